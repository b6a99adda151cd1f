package spool

import (
	"context"

	"cloudqueue/federation"
)

// roll goes on in a new segment: the one opened ahead, or one that is made at once.
func (s *Spool) roll(ctx context.Context) error {
	o := s.takeAhead()
	if o == nil {
		var err error
		if o, err = s.create(ctx); err != nil {
			return err
		}
	}
	s.activate(o)
	return nil
}

// abandon leaves the active segment after a failed write or sync of n bytes. What was durable in it stays; the rest is
// written elsewhere.
func (s *Spool) abandon(n int) {
	o := s.active
	s.active = nil
	if err := o.w.Close(); err != nil {
		s.logger.Debug("close of an abandoned segment", "segment", o.number(), "err", err)
	}
	if o.first == 0 {
		s.discard(o.number())
		return
	}
	s.mu.Lock()
	o.limit = s.state.last + 1
	s.grow(o.segment, int64(n))
	content := o.content
	o.segment.content = nil
	s.mu.Unlock()
	s.cacheContent(o.segment, content)
}

// maxSegmentExtents and maxSegmentParks bound a segment's index in memory: 3 MiB and 2 MiB.
const (
	maxSegmentExtents = 64 << 10
	maxSegmentParks   = 8 << 10
)

// full tells whether the next group goes to another segment. One whose CHECKPOINT is bigger than usual grows until that
// is half of it.
func (s *Spool) full(o *openSegment) bool {
	return o.valid >= max(s.cfg.SegmentSize, 2*o.head) || o.content.extents >= maxSegmentExtents ||
		len(o.content.parks)+len(o.content.unparks) >= maxSegmentParks
}

// layOutHead appends what begins a segment, behind the group that may stand elsewhere too: MOVED for what is dead by
// then, so that segments of marks alone go as fast as they come, and a CHECKPOINT.
func (s *Spool) layOutHead(b *builder, lsn federation.LSN, pending *content) (*submission, error) {
	numbers := s.dead()
	moved, err := newSubmission()
	if len(numbers) > 0 {
		moved, err = newSubmission(movedRecord(numbers))
	}
	if err != nil {
		return nil, err
	}
	b.group(lsn, []*submission{moved}, pending)
	b.checkpoint(lsn+1, s.checkpointNow(numbers), pending)
	return moved, nil
}
