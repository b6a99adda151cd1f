package spool

import "slices"

// The way of a segment between writer and keeper. Each step is one method here; mu makes it one step.
//
//	create ──► ahead ──► active ──► retired ──► closed, with its footer
//	   │         │          │
//	   └─────────┴──────────┴─────► garbage: it holds nothing, or nothing that counts; removed

// keepAhead takes the segment that the keeper has opened while the one of number previous was the last that held
// groups.
func (s *Spool) keepAhead(o *openSegment, previous uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead, s.aheadOf = o, previous
}

// takeAhead gives the segment that was opened ahead, nil when there is none. One whose number is no longer the highest
// is thrown away: segments are used in the order of their numbers.
func (s *Spool) takeAhead() *openSegment {
	s.mu.Lock()
	o := s.ahead
	s.ahead = nil
	late := o != nil && o.number() != s.numbers
	s.mu.Unlock()
	if late {
		s.throwAway(o)
		return nil
	}
	return o
}

// activate makes o the segment that is written, and leaves the one before to the keeper.
func (s *Spool) activate(o *openSegment) {
	s.retire()
	s.active = o
	notify(s.tidy)
}

// retire leaves the active segment to the keeper, which gives it its footer. There need not be one.
func (s *Spool) retire() {
	o := s.active
	s.active = nil
	switch {
	case o == nil:
	case o.first == 0:
		s.throwAway(o)
	default:
		s.mu.Lock()
		s.retired = append(s.retired, o)
		s.mu.Unlock()
	}
}

// takeRetired gives the segments that wait for their footers.
func (s *Spool) takeRetired() []*openSegment {
	s.mu.Lock()
	defer s.mu.Unlock()
	retired := s.retired
	s.retired = nil
	return retired
}

// takeOpen gives every segment that is open, whatever it is. Callers hold mu; writer and keeper have ended.
func (s *Spool) takeOpen() []*openSegment {
	open := s.retired
	for _, o := range []*openSegment{s.active, s.ahead} {
		if o != nil {
			open = append(open, o)
		}
	}
	s.retired, s.active, s.ahead = nil, nil, nil
	return open
}

// throwAway closes a segment that holds nothing, and lets the keeper remove it.
func (s *Spool) throwAway(o *openSegment) {
	_ = o.w.Close() // nothing was written behind its header
	s.discard(o.number())
}

// discard notes a segment that holds nothing, for the keeper to remove.
func (s *Spool) discard(number uint64) {
	s.mu.Lock()
	s.garbage = append([]uint64{number}, s.garbage...)
	s.mu.Unlock()
	notify(s.tidy)
}

// nextGarbage gives a segment to be removed; false: there is none.
func (s *Spool) nextGarbage() (number uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.garbage) == 0 {
		return 0, false
	}
	return s.garbage[0], true
}

// removed forgets a segment that was garbage.
func (s *Spool) removed(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.Index(s.garbage, number); at >= 0 {
		s.garbage = slices.Delete(s.garbage, at, at+1)
	}
}
