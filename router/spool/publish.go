package spool

import (
	"time"
)

// publish shows a durable write of n bytes: marks, index, parking, and the LSN; own is what the spool added to the group, nil for nothing. Then the group's
// tickets end. All of it is one step: in between, its bytes would count twice.
func (s *Spool) publish(o *openSegment, pending *content, n int64, group []*submission, own *submission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.first == 0 {
		o.first = pending.first
		s.segments[o.number()] = o.segment
		s.used += uint64(o.size)
		s.previous = o.number()
		o.head = o.valid + n
		notify(s.tidy) // the next one may be opened ahead
	}
	o.valid += n
	s.grow(o.segment, n)
	s.last = pending.last
	o.last = pending.last
	s.index.addContent(o, pending)
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
		s.marks.merge(r.key, mark{ownLSN(r.payload), r.value})
	case typeAudit:
		s.addAudit(ownAudit{ownLSN(r.payload), r.audit})
	case typeMoved:
		s.applyMoved(r.moved)
	}
}

// applyMoved takes segments out of everything; the keeper may remove them.
func (s *Spool) applyMoved(numbers []uint64) {
	for _, n := range numbers {
		g := s.segments[n]
		if g == nil {
			continue
		}
		s.index.drop(g)
		s.state.parks.drop(g)
		delete(s.segments, n)
		s.used -= uint64(g.size)
		s.garbage = append(s.garbage, n)
		s.extents.drop(g)
	}
}

// grow notes that n bytes were written behind a segment's end.
func (s *Spool) grow(g *segment, n int64) {
	g.size += n
	if s.segments[g.number()] == g { // not when it was found dead before its footer was written
		s.used += uint64(n)
	}
	s.free -= min(s.free, uint64(n))
}

// addContent takes the batches of a durable write, into the index and into the segment's own.
func (x *index) addContent(o *openSegment, pending *content) {
	for key, l := range pending.lanes {
		for _, e := range l.extents {
			o.content.addBatch(key, e)
			x.add(key, run{e.first, e.last(), uint64(e.length), 1}, o.segment)
		}
	}
	o.content.parks = append(o.content.parks, pending.parks...)
	o.content.unparks = append(o.content.unparks, pending.unparks...)
	o.content.others = append(o.content.others, pending.others...)
	o.content.addGroup(pending.first)
	o.content.addGroup(pending.last)
}
