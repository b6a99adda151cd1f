package embedded

import (
	"bytes"
	"encoding/binary"
	"math"
)

// maxTableDepth is how many values may be within each other. RabbitMQ has no bound; real headers nest two or three deep, and 128 keeps
// the recursion of the scanner within a few kilobytes of stack.
const maxTableDepth = 128

// value is one field value as it is on the wire: a type octet and the encoding.
//
//	t bool 1 · b int8 1 · B uint8 1 · s int16 2 · u uint16 2 · I int32 4 · i uint32 4 · l,L int64 8 · f float 4
//	d double 8 · D scale octet + long 5 · S longstr · x bytes · T timestamp 8 · A array · F table · V void 0
//
// The letters are RabbitMQ's, which differ from the specification's (rabbitmq.com/amqp-0-9-1-errata, section 3).
type value []byte

// field is one entry of a table.
type field struct {
	name  string
	value value
}

// table is a field table in wire order with its values undecoded, so that what the broker does not touch goes out byte for
// byte as it came in.
type table []field

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

func validArray(raw []byte, depth int) bool {
	for len(raw) > 0 {
		n, ok := valueSize(raw, depth)
		if !ok {
			return false
		}
		raw = raw[n:]
	}
	return true
}

// valueSize returns how many bytes the value at the front of raw has, its type octet included.
func valueSize(raw []byte, depth int) (int, bool) {
	if len(raw) == 0 || depth >= maxTableDepth {
		return 0, false
	}
	size := 1
	switch raw[0] {
	case 'V':
	case 't', 'b', 'B':
		size += 1
	case 's', 'u':
		size += 2
	case 'I', 'i', 'f':
		size += 4
	case 'D':
		size += 5
	case 'l', 'L', 'T', 'd':
		size += 8
	case 'S', 'x', 'A', 'F':
		return longValueSize(raw, depth)
	default:
		return 0, false
	}
	return size, size <= len(raw) && validFloat(raw)
}

func longValueSize(raw []byte, depth int) (int, bool) {
	if len(raw) < 5 {
		return 0, false
	}
	n := binary.BigEndian.Uint32(raw[1:])
	if uint64(n) > uint64(len(raw)-5) {
		return 0, false
	}
	size := 5 + int(n)
	switch raw[0] {
	case 'A':
		return size, validArray(raw[5:size], depth+1)
	case 'F':
		return size, validTable(raw[5:size], depth+1)
	}
	return size, true
}

// validFloat refuses NaN and the infinities, which RabbitMQ cannot represent: it closes the connection with 541.
func validFloat(raw []byte) bool {
	f, _ := value(raw).float()
	return !math.IsNaN(f) && !math.IsInf(f, 0)
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

func (v value) kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// equal reports whether type and content are the same. l and L are one type, and so are the two encodings of true.
func (v value) equal(other value) bool {
	if a, ok := v.boolean(); ok {
		b, ok := other.boolean()
		return ok && a == b
	}
	if v.kind() == 'l' || v.kind() == 'L' {
		return (other.kind() == 'l' || other.kind() == 'L') && bytes.Equal(v[1:], other[1:])
	}
	return bytes.Equal(v, other)
}

// sameAs compares as RabbitMQ's headers exchange does, which forgets the types of strings and numbers.
func (v value) sameAs(other value) bool {
	if a, ok := v.integer(); ok {
		b, isInt := other.integer()
		f, isFloat := other.float()
		return isInt && a == b || isFloat && float64(a) == f
	}
	if a, ok := v.float(); ok {
		b, isFloat := other.float()
		n, isInt := other.integer()
		return isFloat && a == b || isInt && a == float64(n)
	}
	if v.isBytes() {
		return other.isBytes() && bytes.Equal(v[5:], other[5:])
	}
	return v.equal(other)
}

func (v value) isBytes() bool { return v.kind() == 'S' || v.kind() == 'x' }

// text is the content of an S.
func (v value) text() (string, bool) {
	if v.kind() == 'S' {
		return string(v[5:]), true
	}
	return "", false
}

func (v value) boolean() (val, ok bool) {
	if v.kind() != 't' {
		return false, false
	}
	return v[1] != 0, true
}

func (v value) float() (float64, bool) {
	switch v.kind() {
	case 'f':
		return float64(math.Float32frombits(binary.BigEndian.Uint32(v[1:]))), true
	case 'd':
		return math.Float64frombits(binary.BigEndian.Uint64(v[1:])), true
	}
	return 0, false
}

// integer is any of the integer types, widened. A timestamp is one of them for those who compare.
func (v value) integer() (int64, bool) {
	switch v.kind() {
	case 'b':
		return int64(int8(v[1])), true
	case 'B':
		return int64(v[1]), true
	case 's':
		return int64(int16(binary.BigEndian.Uint16(v[1:]))), true
	case 'u':
		return int64(binary.BigEndian.Uint16(v[1:])), true
	case 'I':
		return int64(int32(binary.BigEndian.Uint32(v[1:]))), true
	case 'i':
		return int64(binary.BigEndian.Uint32(v[1:])), true
	case 'l', 'L', 'T':
		return int64(binary.BigEndian.Uint64(v[1:])), true
	}
	return 0, false
}

// table is the content of an F.
func (v value) table() (table, bool) {
	if v.kind() != 'F' {
		return nil, false
	}
	return parseTable(v[5:])
}

// array is the content of an A.
func (v value) array() ([]value, bool) {
	if v.kind() != 'A' {
		return nil, false
	}
	var elements []value
	for raw := v[5:]; len(raw) > 0; {
		n, ok := valueSize(raw, 0)
		if !ok {
			return nil, false
		}
		elements = append(elements, raw[:n:n])
		raw = raw[n:]
	}
	return elements, true
}

func boolValue(b bool) value { return appendBool([]byte{'t'}, b) }

func textValue(s string) value { return appendLongString(value{'S'}, s) }

func longValue(n int64) value { return appendLonglong(value{'l'}, uint64(n)) }

func timeValue(seconds int64) value { return appendLonglong(value{'T'}, uint64(seconds)) }

func tableValue(t table) value { return appendLongString(value{'F'}, t.appendContent(nil)) }

func arrayValue(elements []value) value {
	return appendLongString(value{'A'}, bytes.Join(asBytes(elements), nil))
}

func asBytes(values []value) [][]byte {
	parts := make([][]byte, len(values))
	for i, v := range values {
		parts[i] = v
	}
	return parts
}

// table reads a table argument. The fields are copies: they outlive the frame.
func (d *decoder) table() (table, bool) {
	raw := d.longBytes()
	if d.broken {
		return nil, false
	}
	fields, ok := parseTable(bytes.Clone(raw))
	d.broken = !ok
	return fields, ok
}
