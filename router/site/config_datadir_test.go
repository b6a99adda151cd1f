package site

import (
	"fmt"
	"strings"
	"testing"

	"cloudqueue/router/admin"
)

func TestADataDirWhoseSocketNoSystemTakesIsRefused(t *testing.T) {
	longest := "/" + strings.Repeat("d", admin.MaxSocketPath-len("//admin.sock"))
	config := strings.Replace(good, "site: ams\n", "site: ams\ndata-dir: %s\n", 1)
	if _, err := ParseConfig("f", fmt.Appendf(nil, config, longest)); err != nil {
		t.Errorf("with the longest path: %v", err)
	}
	_, err := ParseConfig("f", fmt.Appendf(nil, config, longest+"d"))
	if err == nil || !strings.Contains(err.Error(), "data-dir: the admin socket") || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes, a Unix socket's path at most %d; write a shorter path", admin.MaxSocketPath+1, admin.MaxSocketPath)) {
		t.Errorf("with one byte more: %v", err)
	}
}
