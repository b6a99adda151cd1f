package federation

import (
	"encoding/binary"
	"fmt"
	"time"
)

// reader takes fields off the front of b. The first wrong field sets err; all later ones then give zero, so that a
// decoder checks once, at its end.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) corrupt(format string, args ...any) {
	r.fail(fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...)))
}

// refuse makes a field that was taken, and is bad, an error.
func (r *reader) refuse(bad bool, format string, args ...any) {
	if bad && r.err == nil {
		r.corrupt(format, args...)
	}
}

// nest takes over the error of a structure inside this one.
func (r *reader) nest(err error) {
	if err != nil {
		r.fail(err)
	}
}

// take gives the next n bytes, shared with the input.
func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.corrupt("%d bytes wanted, %d left", n, len(r.b))
		return nil
	}
	p := r.b[:n:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) u8() uint8 {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if p := r.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if p := r.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if p := r.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (r *reader) varint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.corrupt("varint cut short or over 64 bits")
		return 0
	}
	if n > 1 && r.b[n-1] == 0 {
		r.corrupt("varint is not minimal")
		return 0
	}
	r.b = r.b[n:]
	return v
}

// sized gives the bytes behind a varint length, shared with the input.
func (r *reader) sized() []byte {
	n := r.varint()
	if n > uint64(len(r.b)) {
		r.corrupt("length %d, %d bytes left", n, len(r.b))
		return nil
	}
	return r.take(int(n))
}

// short gives the bytes of a short string, shared with the input.
func (r *reader) short() []byte { return r.take(int(r.u8())) }

func (r *reader) time() time.Time {
	ms := r.u64()
	if ms > maxMillis {
		r.corrupt("time %d ms is after the year 9999", ms)
		return time.Time{}
	}
	return fromMillis(ms)
}

func (r *reader) duration(ms uint64) time.Duration {
	if ms > uint64(maxDurationMillis) {
		r.corrupt("duration of %d ms", ms)
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

func (r *reader) bool() bool {
	switch v := r.u8(); v {
	case 0:
		return false
	case 1:
		return true
	default:
		r.corrupt("%d is neither 0 nor 1", v)
		return false
	}
}

func (r *reader) zeros(n int) {
	for _, c := range r.take(n) {
		if c != 0 {
			r.corrupt("reserved bytes are not zero")
			return
		}
	}
}

// count takes a u8 or u16 count that was read already and refuses more than limit, or more than the rest can hold at
// size bytes each.
func (r *reader) count(n, limit, size int) int {
	if n > limit || n*size > len(r.b) {
		r.corrupt("%d items, limit %d, %d bytes left", n, limit, len(r.b))
		return 0
	}
	return n
}

func (r *reader) version(want uint8) {
	if v := r.u8(); r.err == nil && v != want {
		r.fail(fmt.Errorf("%w %d", ErrVersion, v))
	}
}

func (r *reader) id() (id [16]byte) {
	copy(id[:], r.take(16))
	return id
}

func (r *reader) digest() (d [32]byte) {
	copy(d[:], r.take(32))
	return d
}

// end refuses bytes that nobody took, and gives the first error with the name of what was decoded.
func (r *reader) end(what string) error {
	if r.err == nil && len(r.b) > 0 {
		r.corrupt("%d bytes too many", len(r.b))
	}
	if r.err != nil {
		return fmt.Errorf("%s: %w", what, r.err)
	}
	return nil
}
