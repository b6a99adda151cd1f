package site

import (
	"errors"
	"strings"
	"testing"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

func TestAStoreThatIsNotCleanedIsDegradedUntilSomethingIsCorrupt(t *testing.T) {
	denied := errors.New("remove segment 7: permission denied")
	if state, reason, fix := degraded(nil, denied); state != admin.Degraded || !strings.Contains(reason, denied.Error()) || fix == "" {
		t.Errorf("not cleaned: %s, %q, fix %q", state, reason, fix)
	}
	lost := &spool.CorruptError{Segment: 3, Offset: -1, What: "the segment is missing"}
	if state, reason, fix := degraded([]*spool.CorruptError{lost}, denied); state != admin.Corrupt || reason != lost.Error() || fix != lost.Fix() {
		t.Errorf("corrupt, too: %s, %q, fix %q", state, reason, fix)
	}
}
