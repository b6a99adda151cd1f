package embedded

import (
	"bytes"
)

// field is one entry of a table.
type field struct {
	name  string
	value value
}

// parseTable splits the content of a table (without its length). The values are parts of raw. ok is false when the
// encoding is wrong anywhere, nested values included.
func parseTable(raw []byte) (fields table, ok bool) {
	for len(raw) > 0 {
		name, val, rest, ok := splitField(raw, 0)
		if !ok {
			return nil, false
		}
		fields = append(fields, field{name: string(name), value: val})
		raw = rest
	}
	return fields, true
}

func splitField(raw []byte, depth int) (name []byte, val value, rest []byte, ok bool) {
	n := 1 + int(raw[0])
	if n >= len(raw) {
		return nil, nil, nil, false
	}
	size, ok := valueSize(raw[n:], depth)
	if !ok {
		return nil, nil, nil, false
	}
	return raw[1:n], value(raw[n : n+size : n+size]), raw[n+size:], true
}

// validTable reports whether raw is the content of a table, all the way down.
func validTable(raw []byte, depth int) bool {
	for len(raw) > 0 {
		_, _, rest, ok := splitField(raw, depth)
		if !ok {
			return false
		}
		raw = rest
	}
	return true
}

// get returns the first value of that name, or nil.
func (t table) get(name string) value {
	for _, f := range t {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// without returns the table with every field of that name left out.
func (t table) without(name string) table {
	kept := make(table, 0, len(t))
	for _, f := range t {
		if f.name != name {
			kept = append(kept, f)
		}
	}
	return kept
}

// with returns the table with the field set: in its place if it is there, else at the end.
func (t table) with(name string, v value) table {
	changed := append(make(table, 0, len(t)+1), t...)
	for i := range changed {
		if changed[i].name == name {
			changed[i].value = v
			return changed
		}
	}
	return append(changed, field{name, v})
}

// appendContent appends the fields without the table's length.
func (t table) appendContent(b []byte) []byte {
	for _, f := range t {
		b = appendShortString(b, f.name)
		b = append(b, f.value...)
	}
	return b
}

// encode returns the table as an argument: length and fields.
func (t table) encode() []byte {
	return appendLongString(nil, t.appendContent(nil))
}

// table is the content of an F.
func (v value) table() (table, bool) {
	if v.kind() != 'F' {
		return nil, false
	}
	return parseTable(v[5:])
}

// table reads a table argument of a well-formed method. The fields are copies: they outlive the frame.
func (d *decoder) table() table {
	fields, _ := parseTable(bytes.Clone(d.longBytes()))
	return fields
}

// equal reports whether both tables have the same fields in any order.
func (t table) equal(other table) bool {
	if len(t) != len(other) {
		return false
	}
	for _, f := range t {
		if v := other.get(f.name); v == nil || !f.value.equal(v) {
			return false
		}
	}
	return true
}
