package federation

// slowLane is the rate, in offsets a second, up to which nothing is reserved that was not received: a crash then flags only
// what was there. (Chosen: such a lane pays at most 100 marks a second for it, which share groups with everything else.)
const slowLane = 100

// maxReserve bounds what is reserved ahead (chosen: one second of the fastest lane measured is far less).
const maxReserve = 1 << 20

// Reserve decides whether reserved has to run ahead, and tells whether a mark must be committed for it. Received is the last
// offset up to which everything is received, perSecond what the lane delivers. Reserved runs ahead by about a second of
// that, and a new mark is due when half of it is used up: the commit takes place while the other half is published.
func (s *JournalState) Reserve(received Offset, perSecond float64) bool {
	want := max(received, s.last)
	if perSecond > slowLane {
		want = max(want, s.last+Offset(min(perSecond, maxReserve)))
	}
	if !s.known || s.stopped || want <= s.mark.Reserved || s.mark.Reserved-s.last > (want-s.last)/2 {
		return false
	}
	s.mark.Reserved = want
	return true
}

// Stop ends the state cleanly: nothing can be taken any more, and the mark, once durable, says that nothing above its reserved
// was published. It returns false, and changes nothing, while something is unfinished: wait, and if the time runs out, stop
// without it. Reserved is not simply done: an earlier process may have published up to the reserved found at the start.
func (s *JournalState) Stop() (Journal, bool) {
	if !s.known || len(s.slots) > 0 {
		return Journal{}, false
	}
	s.stopped = true
	s.mark.Reserved = max(s.mark.Done, s.last, s.flagTo)
	return s.Mark(), true
}
