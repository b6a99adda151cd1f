package spool

import (
	"cmp"
	"slices"

	"cloudqueue/federation"
)

// parking is the index of parked messages: bounded by Config.MaxParked and by what cleaning has not removed yet.
type parking struct {
	states map[ParkID]*parkState
	live   int
	bytes  uint64
}

// parkState is what is known of one id. PARK and UNPARK are merged by their own LSN, as marks are.
type parkState struct {
	lsn      federation.LSN // the highest own LSN seen
	unparked bool
	info     ParkedInfo
	places   []parkedAt // of PARK records; the last one is the one that is read
	un       *parkedAt  // of the UNPARK record, while a PARK of the id still stands in some segment
}

// parkedAt is a record in a segment.
type parkedAt struct {
	segment *segment
	place   place
	lsn     federation.LSN
}

func newParking() *parking { return &parking{states: make(map[ParkID]*parkState)} }

func (p *parking) state(id ParkID) *parkState {
	s := p.states[id]
	if s == nil {
		s = &parkState{unparked: true}
		p.states[id] = s
	}
	return s
}

// add notes PARK and UNPARK records of one segment in the order in which they stand: of two in one group the later wins.
func (p *parking) add(g *segment, parks []parkPlace, unparks []ownID) {
	for len(parks)+len(unparks) > 0 {
		if len(unparks) == 0 || len(parks) > 0 && parks[0].at.position < unparks[0].at.position {
			p.park(parks[0], g)
			parks = parks[1:]
			continue
		}
		p.unpark(unparks[0], g)
		unparks = unparks[1:]
	}
}

// park notes a PARK record.
func (p *parking) park(at parkPlace, g *segment) {
	s := p.state(at.info.ID)
	s.places = append(s.places, parkedAt{g, at.at, at.lsn})
	if at.lsn < s.lsn {
		return
	}
	p.set(s, false)
	s.lsn, s.info = at.lsn, at.info
	p.set(s, true)
}

// unpark notes an UNPARK record.
func (p *parking) unpark(u ownID, g *segment) {
	s := p.state(u.id)
	if s.un == nil || u.lsn >= s.un.lsn {
		s.un = &parkedAt{g, u.at, u.lsn}
	}
	if u.lsn < s.lsn {
		return
	}
	p.set(s, false)
	s.lsn = u.lsn
}

// set makes a state count as parked, or not.
func (p *parking) set(s *parkState, parked bool) {
	if s.unparked == !parked {
		return
	}
	s.unparked = !parked
	if parked {
		p.live++
		p.bytes += s.info.Bytes
		return
	}
	p.live--
	p.bytes -= s.info.Bytes
}

// drop takes a segment out.
func (p *parking) drop(g *segment) {
	for _, s := range p.states {
		s.places = slices.DeleteFunc(s.places, func(at parkedAt) bool { return at.segment == g })
		if s.un != nil && s.un.segment == g {
			s.un = nil
		}
	}
	p.prune()
}

// prune forgets the ids of which no PARK stands anywhere, with their UNPARKs.
func (p *parking) prune() {
	for id, s := range p.states {
		if len(s.places) == 0 {
			p.set(s, false)
			delete(p.states, id)
		}
	}
}

// current is the PARK record that is read: of the highest own LSN, the one that was written last.
func (s *parkState) current() parkedAt {
	best := s.places[0]
	for _, at := range s.places[1:] {
		if at.lsn >= best.lsn {
			best = at
		}
	}
	return best
}

// needs lists the records of g that must not be lost: PARKs that are read, and UNPARKs of a PARK that stands elsewhere.
func (p *parking) needs(g *segment) (list []place) {
	for _, s := range p.states {
		if !s.unparked && s.current().segment == g {
			list = append(list, s.current().place)
		}
		if s.un != nil && s.un.segment == g && s.unparked && s.elsewhere(g) {
			list = append(list, s.un.place)
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.position, b.position) })
	return list
}

// pinned gives, per segment, the bytes of the records that needs lists.
func (p *parking) pinned() map[*segment]uint64 {
	pinned := make(map[*segment]uint64)
	for _, s := range p.states {
		if !s.unparked {
			at := s.current()
			pinned[at.segment] += uint64(at.place.length)
		}
		if s.un != nil && s.unparked && s.elsewhere(s.un.segment) {
			pinned[s.un.segment] += uint64(s.un.place.length)
		}
	}
	return pinned
}

func (s *parkState) elsewhere(g *segment) bool {
	return slices.ContainsFunc(s.places, func(at parkedAt) bool { return at.segment != g })
}

// list gives all parked messages in the order of lane, generation, offset, destination.
func (p *parking) list() []ParkedInfo {
	list := make([]ParkedInfo, 0, p.live)
	for _, s := range p.states {
		if !s.unparked {
			list = append(list, s.info)
		}
	}
	slices.SortFunc(list, func(a, b ParkedInfo) int { return compareParkIDs(a.ID, b.ID) })
	return list
}

func compareParkIDs(a, b ParkID) int {
	return cmp.Or(
		compareLaneKeys(laneKey{a.Lane, a.Generation}, laneKey{b.Lane, b.Generation}),
		cmp.Compare(a.Offset, b.Offset),
		cmp.Compare(a.Destination.Site, b.Destination.Site), cmp.Compare(a.Destination.Target, b.Destination.Target))
}
