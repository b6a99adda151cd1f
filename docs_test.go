package cloudqueue_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// declaredTest is a test's declaration; promisedTest is a name in docs/guarantees.md, or the beginning of one before an ellipsis.
var (
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	promisedTest = regexp.MustCompile(`\b((?:Test|Fuzz)[A-Z]\w*)(…?)`)
)

func TestEveryTestThatAGuaranteeNamesExists(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := testsOfAllPackages(t)
	for _, m := range promisedTest.FindAllStringSubmatch(string(text), -1) {
		known := func(name string) bool { return name == m[1] || m[2] != "" && strings.HasPrefix(name, m[1]) }
		if !slices.ContainsFunc(declared, known) {
			t.Errorf("no test is named %s", m[0])
		}
	}
}

func TestEveryGuaranteeNamesATest(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (G\d+) \|.*$`).FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		if !promisedTest.MatchString(row[0]) {
			t.Errorf("%s names no test", row[1])
		}
	}
	if len(rows) != 14 {
		t.Errorf("the page has %d guarantees, design.md has 14", len(rows))
	}
}

// testsOfAllPackages reads the files: build tags hide none.
func testsOfAllPackages(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declaredTest.FindAllStringSubmatch(string(source), -1) {
			names = append(names, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
