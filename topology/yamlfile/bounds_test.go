package yamlfile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cloudqueue/topology/yamlfile"
)

// A file of the largest size is read or refused in seconds, however it is made. Measured: at most 1 s each on an idle
// core; the limit here leaves room for a loaded machine, and is still far below what a quadratic reader takes.
func TestHostileFilesAreReadOrRefusedInBoundedTime(t *testing.T) {
	const size = yamlfile.MaxSource / slowdown
	const limit = 30 * time.Second
	files := map[string]string{
		"open brackets":       strings.Repeat("[", size),
		"open braces":         strings.Repeat("{", size),
		"dashes":              strings.Repeat("- ", size/2),
		"nested keys":         nestedKeys(900),
		"question marks":      strings.Repeat("? ", size/2),
		"anchors":             strings.Repeat("&a ", size/3),
		"laughs":              laughs(),
		"tags":                strings.Repeat("!!str ", size/6),
		"one long value":      "a: " + strings.Repeat("x", size-3),
		"one long quote":      "a: \"" + strings.Repeat("x", size-5) + "\"",
		"an open quote":       "a: \"" + strings.Repeat("x\n", size/2-4),
		"many keys":           manyKeys(size / 16),
		"the most keys":       manyKeys(yamlfile.MaxKeys),
		"lists in maps":       strings.Repeat("a:\n - b:\n    - 1\n", 40000),
		"many items":          "a: [" + strings.Repeat("1,", size/2-3) + "1]",
		"many lines":          "a:\n" + strings.Repeat("- 1\n", size/4-2),
		"colons":              strings.Repeat(":", size),
		"colons and blanks":   strings.Repeat(": ", size/2),
		"a block":             "a: |\n" + strings.Repeat(" x\n", size/3-4),
		"comments":            strings.Repeat("#\n", size/2),
		"blanks":              strings.Repeat(" ", size),
		"new lines":           strings.Repeat("\n", size),
		"pairs in a list":     "a: [" + strings.Repeat("a: b,", size/5-3) + "]",
		"commas":              "a: [" + strings.Repeat(",", size-10) + "]",
		"documents":           strings.Repeat("---\n", size/4),
		"percents":            strings.Repeat("%", size),
		"quotes":              strings.Repeat("'", size),
		"many unknown keys":   strings.Repeat("k", 60) + manyKeys(size/16),
		"tabs":                strings.Repeat("\t", size),
		"carriage returns":    strings.Repeat("\r", size),
		"over the size limit": strings.Repeat("#", yamlfile.MaxSource+1),
	}
	for name, src := range files {
		t.Run(name, func(t *testing.T) {
			var dst struct {
				A []int `yaml:"a"`
			}
			began := time.Now()
			_ = yamlfile.Decode("f", []byte(src), &dst).Err()
			if took := time.Since(began); took > limit {
				t.Errorf("took %v", took)
			}
		})
	}
}

func nestedKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%07d: 1\n", i)
	}
	return b.String()
}

func laughs() string {
	src := "a0: &a0 [x, x]\n"
	for i := range 40 {
		src += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return src
}
