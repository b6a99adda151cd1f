package amqpwire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMalformed is what properties are that break the protocol's rules or the rules of our own headers.
var ErrMalformed = errors.New("malformed properties")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// field is one field of a table, as views into it.
type field struct {
	name  []byte
	kind  byte
	value []byte // for S, x, A and F without its length
	size  int    // bytes of the whole field
}

// nextField reads the first field of a non-empty table's content.
func nextField(b []byte) (field, error) {
	n := int(b[0])
	if len(b) < 1+n+1 {
		return field{}, malformed("a header's name is cut off")
	}
	f := field{name: b[1 : 1+n], kind: b[1+n]}
	value, size, ok := cutValue(f.kind, b[2+n:])
	if !ok {
		return field{}, malformed("header %q has type %q and is cut off, or the type is unknown", f.name, f.kind)
	}
	f.value, f.size = value, 2+n+size
	return f, nil
}

// cutValue cuts a value of a kind off the front of b and tells how many bytes it took.
func cutValue(kind byte, b []byte) (value []byte, size int, ok bool) {
	size = fixedSize(kind)
	if size >= 0 {
		if len(b) < size {
			return nil, 0, false
		}
		return b[:size], size, true
	}
	if size == unknownKind || len(b) < 4 {
		return nil, 0, false
	}
	n := binary.BigEndian.Uint32(b)
	if uint64(len(b)-4) < uint64(n) {
		return nil, 0, false
	}
	return b[4 : 4+n], 4 + int(n), true
}

const (
	lengthPrefixed = -1
	unknownKind    = -2
)

// fixedSize gives the bytes of a value of a kind, or one of the two constants.
func fixedSize(kind byte) int {
	switch kind {
	case 't', 'b', 'B':
		return 1
	case 's', 'u', 'U':
		return 2
	case 'I', 'i', 'f':
		return 4
	case 'l', 'L', 'd', 'T':
		return 8
	case 'D':
		return 5
	case 'V':
		return 0
	case 'S', 'x', 'A', 'F':
		return lengthPrefixed
	}
	return unknownKind
}

// isTrue tells whether the value is the boolean true.
func (f *field) isTrue() bool { return f.kind == 't' && f.value[0] != 0 }

// integer reads a value of any of the integer kinds.
func (f *field) integer() (int64, bool) {
	switch f.kind {
	case 'b':
		return int64(int8(f.value[0])), true
	case 'B':
		return int64(f.value[0]), true
	case 's', 'U':
		return int64(int16(binary.BigEndian.Uint16(f.value))), true
	case 'u':
		return int64(binary.BigEndian.Uint16(f.value)), true
	case 'I':
		return int64(int32(binary.BigEndian.Uint32(f.value))), true
	case 'i':
		return int64(binary.BigEndian.Uint32(f.value)), true
	case 'l', 'L':
		return int64(binary.BigEndian.Uint64(f.value)), true
	}
	return 0, false
}
