package embedded

import (
	"bytes"
	"encoding/binary"
	"math"
)

// value is one field value as it is on the wire: a type octet and the encoding.
//
//	t bool 1 · b int8 1 · B uint8 1 · s int16 2 · u uint16 2 · I int32 4 · i uint32 4 · l,L int64 8 · f float 4
//	d double 8 · D scale octet + long 5 · S longstr · x bytes · T timestamp 8 · A array · F table · V void 0
//
// The letters are RabbitMQ's, which differ from the specification's (rabbitmq.com/amqp-0-9-1-errata, section 3).
type value []byte

func (v value) kind() byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
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

// table is a field table in wire order with its values undecoded, so that what the broker does not touch goes out byte
// for byte as it came in.
type table []field
