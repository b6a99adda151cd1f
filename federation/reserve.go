package federation

// SlowLane is the rate, in offsets a second, up to which nothing is reserved that was not received: a crash then flags
// only what was there. (Chosen: such a lane pays at most 100 marks a second for it, which share groups with everything
// else.)
const SlowLane = 100

// Reserved runs ahead by what a lane delivers in 1/aheadPart of a second, at least leastAhead: whatever is reserved and
// not published when a router is killed goes out flagged. Measured: with a whole second ahead, 32 kills of routers and
// brokers at 400 messages a second flagged 52,692 of 91,423 messages, as the rate of catching up is many times the
// lane's own. A commit takes some milliseconds, so a tenth of a second is enough not to wait for it.
const (
	aheadPart  = 10
	leastAhead = 64
)

// SlowAhead bounds what a slow lane reserves of what it received (chosen: a quarter of what may be unconfirmed).
const SlowAhead = 512

// maxReserve bounds what is reserved ahead (chosen: a tenth of a second of the fastest lane measured is far less).
const maxReserve = 1 << 16

// Reserve decides whether reserved has to run ahead, and tells whether a mark must be committed for it. Received is the
// last offset up to which everything is received, perSecond what the lane delivers. A new mark is due when half of what
// was ahead is used up: the commit takes place while the other half is published.
func (s *JournalState) Reserve(received Offset, perSecond float64) bool {
	want := min(max(received, s.last), s.last+SlowAhead)
	if perSecond > SlowLane {
		want = s.last + Offset(min(max(perSecond/aheadPart, leastAhead), maxReserve))
	}
	if !s.known || s.stopped || want <= s.mark.Reserved || s.mark.Reserved-s.last > (want-s.last)/2 {
		return false
	}
	s.mark.Reserved = want
	return true
}

// Stop ends the state cleanly: nothing can be taken any more, and the mark, once durable, says that nothing above its
// reserved was published. It returns false, and changes nothing, while something is unfinished: wait, and if the time
// runs out, stop without it. Reserved is not simply done: an earlier process may have published up to the reserved
// found at the start.
func (s *JournalState) Stop() (Journal, bool) {
	if !s.known || len(s.slots) > 0 {
		return Journal{}, false
	}
	s.stopped = true
	s.mark.Reserved = max(s.mark.Done, s.last, s.flagTo)
	return s.Mark(), true
}
