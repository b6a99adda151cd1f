package cloudqueue_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/tests.md names a file in backticks, and behind it tests of that file.
var (
	namedFile = regexp.MustCompile("`([a-z0-9_/]*_test\\.go)`([^`|]*)")
	namedTest = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`)
)

func TestEveryTestThatTheDocumentationNamesExists(t *testing.T) {
	text, err := os.ReadFile("docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, m := range namedFile.FindAllStringSubmatch(string(text), -1) {
		source, err := os.ReadFile(m[1])
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range namedTest.FindAllString(m[2], -1) {
			named++
			if !strings.Contains(string(source), "func "+name+"(") {
				t.Errorf("%s has no %s", m[1], name)
			}
		}
	}
	if named < 100 {
		t.Errorf("%d tests are named: the page is not read as it is written", named)
	}
}
