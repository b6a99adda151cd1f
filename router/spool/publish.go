package spool

import (
	"time"

	"cloudqueue/federation"
)

// publish shows a durable write of n bytes: marks, index, parking, and the LSN; own is what the spool added to the
// group, nil for nothing. Then the group's tickets end. All of it is one step: in between, its bytes would count twice.
func (s *Spool) publish(o *openSegment, pending *content, n int64, group []*submission, own *submission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.first == 0 {
		o.first = pending.first
		s.state.segments[o.number()] = o.segment
		s.used += uint64(o.size)
		s.previous = o.number()
		o.head = o.valid + n
		notify(s.tidy) // the next one may be opened ahead
	}
	o.valid += n
	s.grow(o.segment, n)
	s.state.last = pending.last
	o.last = pending.last
	s.state.index.addContent(o, pending)
	o.others = append(o.others, pending.others...)
	s.state.parks.add(o.segment, pending.parks, pending.unparks)
	for _, sub := range group {
		s.applyAll(sub)
	}
	if own != nil {
		s.applyAll(own)
	}
	s.health.Err, s.health.Attempts, s.writing = nil, 0, time.Time{}
	s.queue.end(group, nil)
	s.letIn()
	s.look()
}

func (s *Spool) applyAll(sub *submission) {
	for i := range sub.records {
		s.apply(&sub.records[i])
	}
}

// apply takes what is not in a segment's index.
func (s *Spool) apply(r *encoded) {
	switch r.kind {
	case typeMark:
		s.state.marks.merge(r.key, mark{ownLSN(r.payload), r.value})
	case typeAudit:
		s.state.addAudit(ownAudit{ownLSN(r.payload), r.audit})
	case typeMoved:
		s.applyMoved(r.moved)
	}
}

// applyMoved takes segments out of everything; the keeper may remove them. What they held that anybody needs stands
// elsewhere by now. Callers hold mu.
func (s *Spool) applyMoved(numbers []uint64) {
	for _, n := range numbers {
		g := s.state.segments[n]
		if g == nil {
			continue
		}
		s.state.index.drop(g)
		for _, id := range s.state.parks.drop(g) {
			s.loseParked(g, id)
		}
		delete(s.state.segments, n)
		s.used -= uint64(g.size)
		s.garbage = append(s.garbage, n)
		s.extents.drop(g)
	}
}

// loseParked says loudly that a parked message went with its segment: its copy was in a stretch that an admin
// abandoned. Callers hold mu.
func (s *Spool) loseParked(g *segment, id ParkID) {
	c := &CorruptError{Segment: g.number(), Offset: -1,
		What:  "a parked message was in a segment that is gone, and its copy is lost",
		Batch: federation.BatchName{Lane: id.Lane, Generation: id.Generation, First: id.Offset}}
	s.logger.Error("parked message lost", "segment", g.number(), "lane", id.Lane, "first", id.Offset,
		"destination", id.Destination)
	if len(s.corrupt) < maxCorrupt {
		s.corrupt = append(s.corrupt, c)
	}
}

// grow notes that n bytes were written behind a segment's end.
func (s *Spool) grow(g *segment, n int64) {
	g.size += n
	if s.state.segments[g.number()] == g { // not when it was found dead before its footer was written
		s.used += uint64(n)
	}
	s.free -= min(s.free, uint64(n))
}
