package spool

import (
	"log/slog"
	"testing"

	"cloudqueue/federation"
)

// holding is a spool, not opened, of one segment that holds a parked message.
func holding(id ParkID) (*Spool, *segment) {
	s := &Spool{state: newState(), extents: newExtentCache(), logger: slog.New(slog.DiscardHandler)}
	g := &segment{header: segmentHeader{number: 1}}
	s.state.segments[1] = g
	s.state.parks.notePark(parkPlace{info: ParkedInfo{ID: id, Bytes: 100}, lsn: 5}, g)
	return s, g
}

var parkedOrder = ParkID{Lane: federation.Lane{Origin: "ams", Route: "orders"}, Generation: 7, Offset: 3, Destination: federation.Destination{Site: "nyc"}}

func TestAParkedMessageThatGoesWithItsSegmentIsSaid(t *testing.T) {
	s, _ := holding(parkedOrder)

	s.applyMoved([]uint64{1})

	if c := s.Corrupt(); len(c) != 1 || c[0].Segment != 1 || c[0].Batch.Lane != parkedOrder.Lane || c[0].Batch.First != 3 {
		t.Errorf("corrupt: %+v", c)
	}
	if s.state.parks.live != 0 || s.state.parks.bytes != 0 {
		t.Errorf("%d parked messages of %d bytes", s.state.parks.live, s.state.parks.bytes)
	}
}

func TestAParkedMessageThatWasCopiedOutlivesItsSegment(t *testing.T) {
	s, _ := holding(parkedOrder)
	later := &segment{header: segmentHeader{number: 2}}
	s.state.segments[2] = later
	s.state.parks.notePark(parkPlace{info: ParkedInfo{ID: parkedOrder, Bytes: 100}, lsn: 5}, later)

	s.applyMoved([]uint64{1})

	if c := s.Corrupt(); len(c) != 0 || s.state.parks.live != 1 || len(s.ParkedOf(parkedOrder.Lane)) != 1 {
		t.Errorf("%d parked messages, corrupt: %+v", s.state.parks.live, c)
	}
}
