package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a file: where it stands, what is wrong, and what to write instead.
type Problem struct {
	File   string
	Line   int // from 1; 0 when the whole file is meant
	Column int // from 1, in characters
	Path   string
	What   string
	Write  string // empty when What says it all
}

// String gives "file:line:column: path: what; write …" on one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.What)
	if p.Write != "" {
		b.WriteString("; write " + p.Write)
	}
	return b.String()
}

// Problems are all the mistakes of a file, in the order of the file. It is the error that reading a file gives.
type Problems []Problem

// Error gives one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Sort brings the problems into the order of the file and drops repetitions.
func (p Problems) Sort() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(p)
}
