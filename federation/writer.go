package federation

import (
	"encoding/binary"
	"fmt"
	"time"
)

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

func (w *writer) time(t time.Time) { w.u64(toMillis(t)) }

func (w *writer) count(n, limit int, what string) {
	if n > limit {
		w.fail("%w: %d %s, limit %d", ErrTooLarge, n, what, limit)
	}
}

// must is for values whose fields the program itself made, and for those that a decoder took: limits and rules of both
// are the same, so that what a peer sent can always be written again. An error is a bug.
func (w *writer) must(what string, v any) []byte {
	if w.err != nil {
		panic(fmt.Sprintf("federation: encode %s %+v: %v", what, v, w.err))
	}
	return w.b
}
