package spool

import (
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
	Full     bool                       // a batch, or a parked message, of an eighth of a segment is refused
}

// Usage says how full the spool is.
func (s *Spool) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{
		Used: s.used, Quota: s.cfg.Quota, Reserve: s.cfg.Reserve, Free: s.free, Queued: s.queue.bytes,
		Parked: s.state.parks.live, Segments: len(s.segments), Lanes: maps.Clone(s.index.bytes), Live: s.state.parks.bytes,
	}
	for _, n := range u.Lanes {
		u.Live += n
	}
	u.Full = s.over(uint64(s.cfg.SegmentSize) / 8)
	return u
}

// over tells whether n more bytes would reach into the reserve, of the quota or of the store itself.
func (s *Spool) over(n uint64) bool {
	n += uint64(s.queue.bytes)
	return s.used+n+s.cfg.Reserve > s.cfg.Quota || n+s.cfg.Reserve > s.free
}

// admit obeys the quotas. What is queued counts, so that the reserve is never touched by batches. (G12)
func (s *Spool) admit(c *claim) error {
	if c.bytes == 0 {
		return nil
	}
	if s.over(c.bytes) || c.parks > 0 && s.state.parks.live+s.queue.parks+c.parks > s.cfg.MaxParked {
		return ErrFull
	}
	if s.cfg.LaneQuota == 0 {
		return nil
	}
	for lane, n := range c.lanes {
		if s.index.bytes[lane]+s.laneBytes[lane]+n > s.cfg.LaneQuota {
			return ErrLaneFull
		}
	}
	return nil
}
