package spool

import (
	"context"
	"errors"
	"io/fs"

	"cloudqueue/federation"
)

// ReadPark reads a parked message. ErrNone: it is not parked. A *CorruptError: it cannot be read.
func (s *Spool) ReadPark(ctx context.Context, id ParkID) (ParkRecord, error) {
	for {
		s.mu.Lock()
		state := s.state.parks.lanes[id.Lane][id]
		if state == nil || state.unparked {
			s.mu.Unlock()
			return ParkRecord{}, ErrNone
		}
		at := state.current()
		s.mu.Unlock()
		p, err := s.readParked(ctx, at, id)
		if errors.Is(err, fs.ErrNotExist) && s.gone(at.segment) {
			continue // cleaned under us: it stands elsewhere
		}
		return p, err
	}
}

func (s *Spool) readParked(ctx context.Context, at parkedAt, id ParkID) (ParkRecord, error) {
	payload, err := s.payload(ctx, at.segment, at.place)
	if err != nil {
		return ParkRecord{}, err
	}
	p, lsn, err := parsePark(payload)
	if err != nil || p.ID() != id || lsn != at.lsn {
		return ParkRecord{}, s.noteCorrupt(&CorruptError{Segment: at.segment.number(), Offset: int64(at.place.position),
			What:  "a parked message is bad",
			Batch: federation.BatchName{Lane: id.Lane, Generation: id.Generation, First: id.Offset}})
	}
	return p, nil
}
