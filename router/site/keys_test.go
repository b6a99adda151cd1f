package site

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// whatToType finds the keys that texts for people tell them to change, which have a dash or a dot.
var whatToType = regexp.MustCompile(`\b(?:raise|lower) ([a-z]+(?:[-.][a-z]+)+)`)

func TestEveryKeyThatATextTellsToRaiseOrLowerIsInTheReference(t *testing.T) {
	router, err := os.ReadFile("../../docs/configuration.md")
	topology, err2 := os.ReadFile("../../docs/topology.md")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	reference := string(router) + string(topology)
	found := 0
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		for _, text := range regexp.MustCompile(`"[^"\n]*"`).FindAll(src, -1) {
			for _, m := range whatToType.FindAllSubmatch(text, -1) {
				found++
				if !strings.Contains(reference, "| `"+string(m[1])+"` |") {
					t.Errorf("%s: %s names %q, which neither docs/configuration.md nor docs/topology.md has", path, text, m[1])
				}
			}
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%v; %d texts found", err, found)
	}
}
