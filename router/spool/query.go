package spool

import (
	"bytes"
	"slices"
	"time"

	"cloudqueue/federation"
)

// What the spool knows is asked lane by lane where a lane asks: commits and readers wait for the spool's lock
// meanwhile, so no answer to a lane takes a time that grows with the others. Extents, Marks and Parked walk everything,
// and are for listings.

// Extent says what of a lane and generation is stored and not forgotten. Bytes and batches are estimates where a part
// of a segment was forgotten.
type Extent struct {
	Lane           federation.Lane
	Generation     federation.Generation
	First, Last    federation.Offset
	Batches, Bytes uint64
}

// Extents says what is stored and not forgotten, by lane and generation.
func (s *Spool) Extents() []Extent {
	s.mu.Lock()
	list := make([]Extent, 0, len(s.state.index.lanes))
	for key := range s.state.index.lanes {
		if e, ok := s.state.index.extent(key); ok {
			list = append(list, e)
		}
	}
	s.mu.Unlock()
	sortExtentList(list)
	return list
}

// ExtentsOf says what of a lane is stored and not forgotten, by generation.
func (s *Spool) ExtentsOf(lane federation.Lane) []Extent {
	s.mu.Lock()
	var list []Extent
	for _, gen := range s.state.index.generations[lane] {
		if e, ok := s.state.index.extent(laneKey{lane, gen}); ok {
			list = append(list, e)
		}
	}
	s.mu.Unlock()
	sortExtentList(list)
	return list
}

// Highest is the highest offset of a lane and generation that was ever stored here, also when it is forgotten; 0 when
// there was none.
func (s *Spool) Highest(lane federation.Lane, gen federation.Generation) federation.Offset {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.state.index.lanes[laneKey{lane, gen}]; l != nil {
		return l.highest
	}
	return 0
}

// Missing gives the first offsets of a span that nothing holds; false when there are none. Of a lane that is scattered
// over a segment some may be missing that Read alone finds.
func (s *Spool) Missing(lane federation.Lane, gen federation.Generation, span federation.Span) (federation.Span, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.state.index.lanes[laneKey{lane, gen}]
	if l == nil {
		return span, true
	}
	for at := span.First; at <= span.Last; {
		runs := l.at(at, nil)
		if len(runs) == 0 {
			return federation.Span{First: at, Last: span.Last}, true
		}
		if first := runs[0].first; first > at {
			return federation.Span{First: at, Last: min(first-1, span.Last)}, true
		}
		at = runs[0].last + 1
	}
	return federation.Span{}, false
}

// Mark gives the durable value of a mark. The caller may keep and change it. A mark that was submitted counts once its
// group is durable.
func (s *Spool) Mark(key federation.MarkKey) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.state.marks.values[key]
	return bytes.Clone(m.value), ok
}

// Marks gives the durable values of all marks of a kind. The caller may keep and change them.
func (s *Spool) Marks(kind federation.MarkKind) map[federation.MarkKey][]byte {
	found := make(map[federation.MarkKey][]byte)
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, m := range s.state.marks.values {
		if key.Kind == kind {
			found[key] = bytes.Clone(m.value)
		}
	}
	return found
}

// MarksOf gives the durable values of a lane's marks of a kind, of all generations and destinations. The caller may
// keep and change them.
func (s *Spool) MarksOf(kind federation.MarkKind, lane federation.Lane) map[federation.MarkKey][]byte {
	found := make(map[federation.MarkKey][]byte)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.state.marks.lanes[lane] {
		if key.Kind == kind {
			found[key] = bytes.Clone(s.state.marks.values[key].value)
		}
	}
	return found
}

// ParkedInfo is one line of the parking's index.
type ParkedInfo struct {
	ID     ParkID
	Reason string
	Last   time.Time // of the last attempt
	Bytes  uint64    // in the store
}

// Parked lists the parked messages, by lane, generation, offset and destination.
func (s *Spool) Parked() []ParkedInfo {
	s.mu.Lock()
	list := make([]ParkedInfo, 0, s.state.parks.live)
	for lane := range s.state.parks.lanes {
		list = s.state.parks.appendLane(list, lane)
	}
	s.mu.Unlock()
	sortParked(list)
	return list
}

// ParkedOf lists the parked messages of a lane, by generation, offset and destination.
func (s *Spool) ParkedOf(lane federation.Lane) []ParkedInfo {
	s.mu.Lock()
	list := s.state.parks.appendLane(nil, lane)
	s.mu.Unlock()
	sortParked(list)
	return list
}

func sortParked(list []ParkedInfo) {
	slices.SortFunc(list, func(a, b ParkedInfo) int { return compareParkIDs(a.ID, b.ID) })
}

// Audits gives the admins' words, oldest first; the last 1,000 are kept.
func (s *Spool) Audits() []AuditRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]AuditRecord, len(s.state.audits))
	for i, a := range s.state.audits {
		list[i] = a.AuditRecord
	}
	return list
}

// Corrupt lists the stretches that were found corrupt at Open, and what reading found since.
func (s *Spool) Corrupt() []*CorruptError {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.corrupt)
}
