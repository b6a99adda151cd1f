package spool

import (
	"time"

	"cloudqueue/federation"
)

// segment is one segment of the store, as the spool remembers it. Its index stays in the store (or, for the one that is
// written, in content).
type segment struct {
	header   segmentHeader
	valid    int64          // bytes up to the end of the last group that counts
	size     int64          // bytes in the store, with footer and remains
	first    federation.LSN // of the groups that count; 0 when there is none
	last     federation.LSN
	limit    federation.LSN // groups at or above it never count; 0: no limit
	footer   bool
	live     uint64   // bytes of batches that are not forgotten
	batches  uint64   // number of them, about
	content  *content // while it is written and until its footer is durable; nil otherwise
	others   []place  // records of unknown, not critical types
	broken   bool     // a part of it is corrupt: it is never cleaned, and removed only when nothing in it can be live
	accepted bool     // an admin has abandoned what is corrupt in it
	unread   unread
}

// unread is that a segment could not be read to be cleaned. Zero: it could.
type unread struct {
	err   error
	tries int       // in a row
	again time.Time // before it the segment is left alone
}

// failed notes one more try.
func (u *unread) failed(err error, now time.Time) {
	u.tries++
	u.err, u.again = err, now.Add(backoff(u.tries))
}

func (g *segment) number() uint64 { return g.header.number }

// tableEntry is the segment's line in a checkpoint.
func (g *segment) tableEntry() tableEntry {
	return tableEntry{number: g.number(), valid: g.valid, last: g.last, live: g.live, accepted: g.accepted}
}
