package federation

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Rules of every format in this package:
//
//   - integers are little endian; a varint is LEB128 in as few bytes as possible, a longer one is refused;
//   - a short string is u8 length + bytes; a name is a short string of 1 to MaxName bytes;
//   - a time is u64 milliseconds since 1970, 0 for none, at most maxMillis; a duration is whole milliseconds;
//   - a length is checked against its limit and against the bytes that are there before anything is allocated for it;
//   - one value has one encoding: what a decoder takes, the encoder gives back byte for byte.

// maxMillis is the last millisecond of the year 9999: times and durations stay inside time.Time and time.Duration in nanoseconds / 1e6.
const (
	maxMillis         = 253402300799999
	maxDurationMillis = math.MaxInt64 / int64(time.Millisecond)
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

func (r *reader) text() string { return string(r.short()) }

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

// count takes a u8 or u16 count that was read already and refuses more than limit, or more than the rest can hold at size bytes each.
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

// writer appends fields to b. The first value that does not fit sets err.
type writer struct {
	b   []byte
	err error
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) u8(v uint8)      { w.b = append(w.b, v) }
func (w *writer) u16(v uint16)    { w.b = binary.LittleEndian.AppendUint16(w.b, v) }
func (w *writer) u32(v uint32)    { w.b = binary.LittleEndian.AppendUint32(w.b, v) }
func (w *writer) u64(v uint64)    { w.b = binary.LittleEndian.AppendUint64(w.b, v) }
func (w *writer) varint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) bytes(p []byte)  { w.b = append(w.b, p...) }

func (w *writer) bool(v bool) {
	if v {
		w.u8(1)
	} else {
		w.u8(0)
	}
}

func (w *writer) zeros(n int) { w.b = append(w.b, make([]byte, n)...) }

func (w *writer) sized(p []byte) {
	w.varint(uint64(len(p)))
	w.bytes(p)
}

func (w *writer) short(s string) {
	if len(s) > MaxShortString {
		w.fail("%w: string of %d bytes, limit %d", ErrTooLarge, len(s), MaxShortString)
		return
	}
	w.u8(uint8(len(s)))
	w.b = append(w.b, s...)
}

// text writes words for people; what is over 255 bytes is cut, at the end of a character.
func (w *writer) text(s string) {
	for len(s) > MaxShortString {
		cut := MaxShortString
		for cut > 0 && s[cut]&0xC0 == 0x80 {
			cut--
		}
		s = s[:cut]
	}
	w.short(s)
}

func (w *writer) time(t time.Time) { w.u64(toMillis(t)) }

func (w *writer) count(n, limit int, what string) {
	if n > limit {
		w.fail("%w: %d %s, limit %d", ErrTooLarge, n, what, limit)
	}
}

// must is for values whose fields the program itself made: an error is a bug.
func (w *writer) must(what string, v any) []byte {
	if w.err != nil {
		panic(fmt.Sprintf("federation: encode %s %+v: %v", what, v, w.err))
	}
	return w.b
}

func fromMillis(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// toMillis gives 0 for the zero time and everything before 1970, and maxMillis for everything after the year 9999.
func toMillis(t time.Time) uint64 { return uint64(min(max(t.UnixMilli(), 0), maxMillis)) }

// millis is a duration in whole milliseconds, 0 for a negative one.
func millis(d time.Duration) uint64 { return uint64(max(d, 0) / time.Millisecond) }

func varintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func putUint16(b []byte, v uint16) { binary.LittleEndian.PutUint16(b, v) }
func putUint32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
