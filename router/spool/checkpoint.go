package spool

import "slices"

// checkpointNow is all that the spool knows as of the last durable group, less what segments' own indexes hold. The
// segments in moved are free once it is durable.
func (s *Spool) checkpointNow(moved []uint64) *checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &checkpoint{asOf: s.state.last, marks: make([]keyedMark, 0, len(s.state.marks.values)),
		audits: append([]ownAudit(nil), s.state.audits...)}
	for key, m := range s.state.marks.values {
		c.marks = append(c.marks, keyedMark{key, m})
	}
	for _, g := range s.state.inOrder() {
		if !slices.Contains(moved, g.number()) {
			c.segments = append(c.segments, g.tableEntry())
		}
	}
	c.segments = append(c.segments, s.state.missing...)
	for key, l := range s.state.index.lanes {
		if l.highest != 0 {
			c.highest = append(c.highest, laneHighest{key, l.highest})
		}
	}
	return c
}
