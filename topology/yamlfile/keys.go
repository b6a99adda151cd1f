package yamlfile

import (
	"reflect"
	"slices"
	"strings"
)

// decodeStruct fills the fields whose tag `yaml` names a key of the map, and reports the keys that no field has.
func (f *File) decodeStruct(n *Node, dst reflect.Value) {
	if n.Kind == Null {
		return
	}
	fields, names := structKeys(dst.Type())
	if !f.want(n, Map, "{"+names[0]+": …}") {
		return
	}
	for _, p := range n.Pairs {
		i, known := fields[p.Key]
		if !known {
			f.reportUnknown(n, p, names, dst.Type())
			continue
		}
		if dst.Type().Field(i).Type == reflect.TypeFor[Later]() {
			f.reportAt(p.Line, p.Column, n.childPath(p.Key), dst.Type().Field(i).Tag.Get("later"),
				"%s comes with a later version", p.Key)
			continue
		}
		f.decode(p.Value, dst.Field(i))
	}
}

func structKeys(t reflect.Type) (fields map[string]int, names []string) {
	fields = make(map[string]int, t.NumField())
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			fields[name] = i
			names = append(names, name)
		}
	}
	return fields, names
}

func (f *File) reportUnknown(n *Node, p Pair, known []string, t reflect.Type) {
	write := "one of " + strings.Join(carriedOut(t, known), ", ")
	if near := Nearest(p.Key, known); near != "" {
		write = near
	}
	f.reportAt(p.Line, p.Column, n.childPath(p.Key), write, "unknown key %q", p.Key)
}

// carriedOut leaves out what would be refused as Later, unless that is everything.
func carriedOut(t reflect.Type, known []string) []string {
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" && t.Field(i).Type != reflect.TypeFor[Later]() {
			names = append(names, name)
		}
	}
	if names == nil {
		return known
	}
	return names
}

// Nearest gives the known word that a mistyped one most likely means, or "".
func Nearest(word string, known []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(fold(word), fold(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// fold makes camelCase and snake_case writings of a kebab-case key equal to it.
func fold(word string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(word))
}

// distance is the optimal string alignment distance: insertions, deletions, changes and swaps of neighbours.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
