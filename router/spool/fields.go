package spool

import (
	"encoding/binary"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// fields reads little-endian fields from bytes that it does not trust. After the first bad one everything reads as zero
// and err says why.
type fields struct {
	b   []byte
	err error
}

func (f *fields) fail(what string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %w", what, federation.ErrCorrupt)
	}
	f.b = nil
}

// take gives the next n bytes, shared with the input; nil when there are fewer.
func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.fail("cut off")
		return nil
	}
	b := f.b[:n:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) u8() uint8 {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) u16() uint16 {
	if b := f.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (f *fields) u32() uint32 {
	if b := f.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (f *fields) u64() uint64 {
	if b := f.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (f *fields) lsn() federation.LSN { return federation.LSN(f.u64()) }

// time reads milliseconds since 1970; 0 is the zero time.
func (f *fields) time() time.Time {
	ms := f.u64()
	if ms == 0 {
		return time.Time{}
	}
	if ms > 1<<53 {
		f.fail("a time after the year 287,000")
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// text reads a u16 length and that many bytes.
func (f *fields) text() string { return string(f.take(int(f.u16()))) }

// bytes reads a u32 length and that many bytes, shared with the input.
func (f *fields) bytes() []byte { return f.take(int(f.u32())) }

// key reads a mark's key.
func (f *fields) key() federation.MarkKey {
	if f.err != nil {
		return federation.MarkKey{}
	}
	key, rest, err := federation.ParseMarkKey(f.b)
	if err != nil {
		f.err, f.b = err, nil
		return federation.MarkKey{}
	}
	f.b = rest
	return key
}

// count reads a u32 and refuses one that the bytes left cannot hold, at minSize bytes each: it is used to allocate.
func (f *fields) count(minSize int) int {
	n := f.u32()
	if int64(n)*int64(minSize) > int64(len(f.b)) {
		f.fail("a count beyond the bytes left")
		return 0
	}
	return int(n)
}

// end tells whether all was read, and well.
func (f *fields) end() error {
	if f.err == nil && len(f.b) != 0 {
		f.fail("bytes too many")
	}
	return f.err
}

func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.LittleEndian.AppendUint64(dst, 0)
	}
	return binary.LittleEndian.AppendUint64(dst, uint64(t.UnixMilli()))
}

func appendText(dst []byte, s string) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

func appendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }
func appendU64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }
