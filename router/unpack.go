package router

import (
	"errors"

	"cloudqueue/federation"
)

// next is the entry at the next offset; nil when it is not here or its batch cannot be opened.
func (l *inLane) next() (*arrival, *federation.Entry) {
	a, n := l.turnOf()
	if a == nil || a.entries == nil && !l.decode(a) {
		return nil, nil
	}
	return a, &a.entries[n-a.batch.Header.First]
}

// turnOf is the arrival that holds the next offset, and that offset; nil when it is not here, or when there is no room
// to open it.
func (l *inLane) turnOf() (*arrival, federation.Offset) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.journal.Next()
	if a := l.holdingLocked(n); a != nil && (a.entries != nil || l.roomForLocked(a)) {
		return a, n
	}
	return nil, n
}

// roomForLocked bounds what is decoded at once: a window of well compressed batches is far more than its bytes. One is always
// opened; another one when an earlier one has ended.
func (l *inLane) roomForLocked(a *arrival) bool {
	return l.decoded == 0 || l.decoded+int(a.batch.Header.RawLength) <= maxDecoded
}

// maxDecoded is a lane's decoded batches (chosen: two of the largest).
const maxDecoded = 2 * federation.MaxRawBatch

// decode opens a batch when its turn comes, without mu: links bring more of the lane meanwhile. It is false when the
// batch was given back in the meantime, or is not what its origin sealed: then it is dropped, and the verdict says what
// would help.
func (l *inLane) decode(a *arrival) bool {
	entries, err := a.batch.Open(l.coder)
	if err != nil {
		l.cannotOpen(a, err)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[a.batch.Header.Span()] != a {
		return false
	}
	a.entries = entries
	l.decoded += int(a.batch.Header.RawLength)
	return true
}

func (l *inLane) cannotOpen(a *arrival, err error) {
	v, origin, span := verdictOn(err), string(l.key.lane.Origin), a.batch.Header.Span()
	l.r.log.Debug("batch cannot be opened", "lane", l.key.lane.String(), "first", uint64(span.First), "err", err)
	fix := "see the batch at the origin, or abandon it at the origin: " + voidOf(l.key.lane, span, federation.VoidCorrupt)
	if v != federation.Corrupt {
		fix = "update the router of this site"
	}
	l.hold(origin+" sends a batch that cannot be opened ("+v.String()+")", fix)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[span] == a {
		l.rejectLocked(a, v)
	}
}

// verdictOn is the answer to a batch that cannot be parsed or opened. Only one that is damaged is worth sending again,
// or giving up: what a later version wrote waits for an update of this router.
func verdictOn(err error) federation.Verdict {
	switch {
	case errors.Is(err, federation.ErrUnknownCritical), errors.Is(err, federation.ErrVersion):
		return federation.UnknownCritical
	case errors.Is(err, federation.ErrCodec):
		return federation.CodecUnknown
	}
	return federation.Corrupt
}

// notOfThisVersion tells whether a lane or a batch is of a kind that the format has and this version does not deliver:
// fragments would appear as messages, and a shard or an addressed lane in an order of its own. They are held at their
// origin (G13).
func notOfThisVersion(lane federation.Lane, flags federation.BatchFlags) bool {
	return lane.Kind != federation.KindRoute || lane.Shard != 0 || flags&(federation.BatchFragments|federation.BatchReplay) != 0
}

// rejectLocked gives a held copy up with a verdict. The answer is given without the lock.
func (l *inLane) rejectLocked(a *arrival, v federation.Verdict) {
	l.discardLocked(a)
	l.r.refused.addVerdict("copy", v, about(l.key.lane, l.key.lane.Origin))
	c := a.unanswered()
	l.r.start(func() { c.say(v, maxPause) })
}
