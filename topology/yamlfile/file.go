package yamlfile

import "fmt"

// File is a file that was read: what it says is in the struct given to Decode; the File knows where each value stands
// and collects the problems. One goroutine uses it.
type File struct {
	Name     string
	Root     *Node            // nil when the text is no YAML at all
	places   map[string]place // of values
	keys     map[string]place // of the keys of these values
	failed   map[string]bool  // paths with a problem
	problems Problems
}

type place struct{ line, column int }

// Decode reads src into the struct that dst points to, and notes every mistake. What could not be read stays zero.
// Ask Err before using dst; further checks may Report more before that.
func Decode(name string, src []byte, dst any) *File {
	f := &File{Name: name, places: map[string]place{}, keys: map[string]place{}, failed: map[string]bool{}}
	f.Root = f.parse(src)
	if f.Root != nil {
		f.refuseSecrets(f.Root)
		f.Into(f.Root, dst)
	}
	return f
}

// Err gives all problems, sorted, or nil.
func (f *File) Err() error {
	if len(f.problems) == 0 {
		return nil
	}
	f.problems = f.problems.Sort()
	return f.problems
}

// Has tells whether something stands at a path, for example "routes.orders.to[1].queue".
func (f *File) Has(path string) bool {
	_, ok := f.places[path]
	return ok
}

// Failed tells whether a problem was noted at exactly this path: a value that could not be read is zero, and further
// problems that come of it would mislead.
func (f *File) Failed(path string) bool { return f.failed[path] }

// Report notes a problem at the value of a path, but no second one at a path that has Failed. A path that is not in the
// file stands at the key of the longest part of it that is.
func (f *File) Report(path, write, what string, args ...any) {
	if f.Failed(path) {
		return
	}
	f.failed[path] = true
	f.problems = append(f.problems, f.Problem(path, write, what, args...))
}

// ReportKey is Report at the key in place of its value: for a name that is wrong.
func (f *File) ReportKey(path, write, what string, args ...any) {
	if key, ok := f.keys[path]; ok && !f.Failed(path) {
		f.reportAt(key.line, key.column, path, write, what, args...)
		return
	}
	f.Report(path, write, what, args...)
}

// Problem makes what Report notes.
func (f *File) Problem(path, write, what string, args ...any) Problem {
	at := f.find(path)
	return Problem{File: f.Name, Line: at.line, Column: at.column, Path: path, What: fmt.Sprintf(what, args...),
		Write: write}
}

func (f *File) find(path string) place {
	if at, ok := f.places[path]; ok {
		return at
	}
	for path != "" {
		path = parentPath(path)
		if at, ok := f.keys[path]; ok {
			return at
		}
		if at, ok := f.places[path]; ok && path != "" {
			return at
		}
	}
	return place{1, 1}
}

func parentPath(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

func (f *File) reportAt(line, column int, path, write, what string, args ...any) {
	f.failed[path] = true
	f.problems = append(f.problems, Problem{File: f.Name, Line: line, Column: column, Path: path,
		What: fmt.Sprintf(what, args...), Write: write})
}

func (f *File) reportNode(n *Node, write, what string, args ...any) {
	f.reportAt(n.Line, n.Column, n.Path, write, what, args...)
}
