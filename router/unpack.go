package router

import (
	"errors"

	"cloudqueue/federation"
)

// next is the entry at the next offset; nil when it is not here or its batch cannot be opened.
func (l *inLane) next() (*arrival, *federation.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.journal.Next()
	a := l.holding(n)
	if a == nil || a.entries == nil && (!l.roomFor(a) || !l.decode(a)) {
		return nil, nil
	}
	return a, &a.entries[n-a.batch.Header.First]
}

// roomFor bounds what is decoded at once: a window of well compressed batches is far more than its bytes. One is always
// opened; another one when an earlier one has ended. Callers hold mu.
func (l *inLane) roomFor(a *arrival) bool {
	return l.decoded == 0 || l.decoded+int(a.batch.Header.RawLength) <= maxDecoded
}

// maxDecoded is a lane's decoded batches (chosen: two of the largest).
const maxDecoded = 2 * federation.MaxRawBatch

// decode opens a batch when its turn comes. A batch that is not what its origin sealed is dropped and answered CORRUPT:
// the origin sends it again. Callers hold mu.
func (l *inLane) decode(a *arrival) bool {
	entries, err := a.batch.Open(l.coder)
	if err == nil {
		a.entries = entries
		l.decoded += int(a.batch.Header.RawLength)
		return true
	}
	v := federation.Corrupt
	if errors.Is(err, federation.ErrUnknownCritical) {
		v = federation.UnknownCritical
	}
	origin := string(l.key.lane.Origin)
	l.r.log.Debug("batch cannot be opened", "lane", l.key.lane.String(), "first", uint64(a.batch.Header.First), "err", err)
	l.sayLocked("held", origin+" sends a batch that cannot be opened ("+v.String()+")", "at "+origin+": "+verdictFix(v))
	l.reject(a, v)
	return false
}

// reject gives a held copy up with a verdict. Callers hold mu, so the answer is given elsewhere.
func (l *inLane) reject(a *arrival, v federation.Verdict) {
	l.discard(a)
	l.r.refused.addVerdict("copy", v, about(l.key.lane, l.key.lane.Origin))
	c := a.passed()
	l.r.start(func() { c.say(v, maxPause) })
}
