package federation

import (
	"encoding/binary"
	"math"
	"time"
)

// Rules of every format in this package:
//
//   - integers are little endian; a varint is LEB128 in as few bytes as possible, a longer one is refused;
//   - a short string is u8 length + bytes; a name is a short string of 1 to MaxName bytes;
//   - a text is a short string of UTF-8 without control characters (text.go);
//   - a time is u64 milliseconds since 1970, 0 for none, at most maxMillis; a duration is whole milliseconds;
//   - a length is checked against its limit and against the bytes that are there before anything is allocated for it;
//   - one value has one encoding: what a decoder takes, the encoder gives back byte for byte.

// maxMillis is the last millisecond of the year 9999: times and durations stay inside time.Time and time.Duration in
// nanoseconds / 1e6.
const (
	maxMillis         = 253402300799999
	maxDurationMillis = math.MaxInt64 / int64(time.Millisecond)
)

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
