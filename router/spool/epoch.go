package spool

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"cloudqueue/federation"
)

// epochSpread is among how many epochs the next one is drawn when the clock is behind (chosen: two copies of a store
// meet once in 4,096 times, and the epoch is at most four seconds further ahead).
const epochSpread = 1 << 12

// NextEpoch is what a claim raises the epoch to: now in ms, or beyond the previous one when the clock does not show
// more than that. There it is drawn: the next openings of a store and of a copy of it, with a clock that was put back
// before both, must not be taken for one.
func NextEpoch(previous federation.Epoch, now time.Time) federation.Epoch {
	if ms := federation.Epoch(max(now.UnixMilli(), 0)); ms > previous {
		return ms
	}
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return previous + 1 + federation.Epoch(binary.LittleEndian.Uint16(b[:])%epochSpread)
}
