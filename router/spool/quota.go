package spool

import (
	"errors"
	"fmt"
	"maps"

	"cloudqueue/federation"
)

// Usage says how full the spool is. All sizes are bytes.
type Usage struct {
	Used     uint64 // of all segments, with what is dead in them
	Live     uint64 // of batches that are not forgotten, and parked messages
	Quota    uint64
	Reserve  uint64 // of Quota, for marks, checkpoints and cleaning
	Free     uint64 // the store's own word
	Queued   int    // submitted and not yet durable
	Parked   int    // messages
	Segments int
	Lanes    map[federation.Lane]uint64 // live batches
	// Full tells that a submission was refused for want of room and would be again, or that there is no room for an
	// eighth of a segment. Once it is false everything that was refused fits. A small batch may be taken while it is
	// true.
	Full bool
}

// Usage says how full the spool is.
func (s *Spool) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	u := Usage{
		Used: s.used, Quota: s.cfg.Quota, Reserve: s.cfg.Reserve, Free: s.free, Queued: s.queue.bytes,
		Parked: s.state.parks.live, Segments: len(s.state.segments), Lanes: maps.Clone(s.state.index.bytes),
		Live: s.state.parks.bytes, Full: s.space.full,
	}
	for _, n := range u.Lanes {
		u.Live += n
	}
	return u
}

// fullness is whether the spool counts as full. Spool.mu guards it.
type fullness struct {
	full    bool
	refused uint64 // bytes of the largest submission that was refused since
}

// The room below which the spool is full, and that at which it is not any more, as shares of a segment. Chosen: an
// eighth is some batches; what cleaning gives back, a segment and more, ends it at once, a few bytes do not.
const (
	fullBelow    = 8
	roomierAbove = 4
)

// lookFull finds out whether the spool is full. Callers hold mu.
func (s *Spool) lookFull() {
	need := uint64(s.cfg.SegmentSize) / fullBelow
	if s.space.full {
		need = max(uint64(s.cfg.SegmentSize)/roomierAbove, s.space.refused)
	}
	if s.space.full = s.batchRoom() < need; !s.space.full {
		s.space.refused = 0
	}
}

// batchRoom is the bytes of batches that fit before the reserve, of the quota or of the store itself. What is queued
// counts, so that batches never touch the reserve. (G12) Callers hold mu.
func (s *Spool) batchRoom() uint64 { return min(s.quotaRoom(), s.diskRoom()) }

func (s *Spool) quotaRoom() uint64 {
	return s.cfg.Quota - min(s.cfg.Quota, s.used+uint64(s.queue.bytes)+s.cfg.Reserve)
}

func (s *Spool) diskRoom() uint64 { return s.free - min(s.free, uint64(s.queue.bytes)+s.cfg.Reserve) }

// whyFull is the ErrFull that says what there is too little of. Callers hold mu.
func (s *Spool) whyFull() error {
	if s.quotaRoom() <= s.diskRoom() {
		return ErrFull
	}
	return &DiskFullError{Place: s.store.Place(), Kept: s.cfg.Reserve, Disk: s.total}
}

// Claim weighs records; fits then tells whether Submit would take them at that moment. nil: it would; else ErrFull or
// ErrLaneFull. A caller that was refused asks until there is room for just that: a smaller submission may fit before.
// It may ask for hours: nothing of the records is kept. The error is what Submit says of records that no log may hold.
func (s *Spool) Claim(records ...Record) (fits func() error, err error) {
	sub, err := encodeRecords(records)
	if err != nil {
		return nil, err
	}
	c := sub.claim
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.refuses(&c)
	}, nil
}

// Fits is a Claim that is asked once.
func (s *Spool) Fits(records ...Record) error {
	fits, err := s.Claim(records...)
	if err != nil {
		return err
	}
	return fits()
}

// admit obeys the quotas, and remembers what did not fit. Callers hold mu.
func (s *Spool) admit(c *claim) error {
	err := s.refuses(c)
	if errors.Is(err, ErrFull) && c.bytes > s.batchRoom() {
		s.space.full, s.space.refused = true, max(s.space.refused, c.bytes)
		s.look()
	}
	return err
}

// refuses tells why the quotas refuse a claim; nil when they do not. Callers hold mu.
func (s *Spool) refuses(c *claim) error {
	switch {
	case c.bytes == 0:
		return nil
	case c.bytes > s.cfg.Quota-s.cfg.Reserve:
		return fmt.Errorf("%d bytes, more than the quota of %d without its reserve of %d: %w", c.bytes, s.cfg.Quota,
			s.cfg.Reserve, federation.ErrTooLarge)
	case c.bytes > s.batchRoom():
		return s.whyFull()
	case c.parks > 0 && s.state.parks.live+s.queue.parks+c.parks > s.cfg.MaxParked:
		return fmt.Errorf("%d messages are parked, %d are the most: %w", s.state.parks.live, s.cfg.MaxParked, ErrFull)
	}
	for lane, n := range c.lanes {
		if n > s.cfg.LaneQuota {
			return fmt.Errorf("%d bytes, more than the %d of a lane: %w", n, s.cfg.LaneQuota, federation.ErrTooLarge)
		}
		if s.state.index.bytes[lane]+s.queue.laneBytes[lane]+n > s.cfg.LaneQuota {
			return ErrLaneFull
		}
	}
	return nil
}
