package spool

import (
	"cmp"
	"slices"

	"cloudqueue/federation"
)

// parking is the index of parked messages: bounded by Config.MaxParked and by what cleaning has not removed yet.
type parking struct {
	lanes map[federation.Lane]map[ParkID]*parkState
	live  int
	bytes uint64
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

func newParking() *parking { return &parking{lanes: make(map[federation.Lane]map[ParkID]*parkState)} }

func (p *parking) state(id ParkID) *parkState {
	lane := p.lanes[id.Lane]
	if lane == nil {
		lane = make(map[ParkID]*parkState)
		p.lanes[id.Lane] = lane
	}
	s := lane[id]
	if s == nil {
		s = &parkState{unparked: true}
		lane[id] = s
	}
	return s
}

// all yields what is known of every id, in no order.
func (p *parking) all(yield func(ParkID, *parkState) bool) {
	for _, lane := range p.lanes {
		for id, s := range lane {
			if !yield(id, s) {
				return
			}
		}
	}
}

// add notes PARK and UNPARK records of one segment in the order in which they stand: of two in one group the later
// wins.
func (p *parking) add(g *segment, parks []parkPlace, unparks []ownID) {
	for len(parks)+len(unparks) > 0 {
		if len(unparks) == 0 || len(parks) > 0 && parks[0].at.position < unparks[0].at.position {
			p.notePark(parks[0], g)
			parks = parks[1:]
			continue
		}
		p.noteUnpark(unparks[0], g)
		unparks = unparks[1:]
	}
}

// notePark notes a PARK record.
func (p *parking) notePark(at parkPlace, g *segment) {
	s := p.state(at.info.ID)
	s.places = append(s.places, parkedAt{g, at.at, at.lsn})
	if at.lsn < s.lsn {
		return
	}
	p.set(s, false)
	s.lsn, s.info = at.lsn, at.info
	p.set(s, true)
}

// noteUnpark notes an UNPARK record.
func (p *parking) noteUnpark(u ownID, g *segment) {
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

// drop takes a segment out, and gives the parked messages that stood nowhere else.
func (p *parking) drop(g *segment) (lost []ParkID) {
	for _, s := range p.all {
		s.places = slices.DeleteFunc(s.places, func(at parkedAt) bool { return at.segment == g })
		if s.un != nil && s.un.segment == g {
			s.un = nil
		}
	}
	return p.prune()
}

// prune forgets the ids of which no PARK stands anywhere, with their UNPARKs. Those among them that are parked are
// lost.
func (p *parking) prune() (lost []ParkID) {
	for lane, states := range p.lanes {
		for id, s := range states {
			if len(s.places) > 0 {
				continue
			}
			if !s.unparked {
				lost = append(lost, id)
			}
			p.set(s, false)
			delete(states, id)
		}
		if len(states) == 0 {
			delete(p.lanes, lane)
		}
	}
	return lost
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
	for _, s := range p.all {
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
	for _, s := range p.all {
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

// appendLane adds a lane's parked messages to list, in no order.
func (p *parking) appendLane(list []ParkedInfo, lane federation.Lane) []ParkedInfo {
	for _, s := range p.lanes[lane] {
		if !s.unparked {
			list = append(list, s.info)
		}
	}
	return list
}

func compareParkIDs(a, b ParkID) int {
	return cmp.Or(
		compareLaneKeys(laneKey{a.Lane, a.Generation}, laneKey{b.Lane, b.Generation}),
		cmp.Compare(a.Offset, b.Offset),
		cmp.Compare(a.Destination.Site, b.Destination.Site), cmp.Compare(a.Destination.Target, b.Destination.Target))
}
