package spool

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
)

// Run writes what is submitted and keeps the segments in order, until Close has let it write everything (nil), its context ends, or another process has claimed
// the store (ErrFenced). It is called once. When it returns, tickets that are still open end with ErrClosed: their records are unknown.
func (s *Spool) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.start(cancel); err != nil {
		return err
	}
	defer close(s.done)
	var keeper sync.WaitGroup
	keeper.Go(func() { s.keep(ctx) })
	err := s.writeAll(ctx)
	cancel()
	keeper.Wait()
	return errors.Join(err, s.finish(err))
}

func (s *Spool) start(cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return s.ended
	}
	if s.cancel != nil {
		return errors.New("Run was called twice")
	}
	s.cancel = cancel
	return nil
}

// writeAll is the writer: one group syncs while the next collects in the queue; when the store is idle a submission is written at once.
func (s *Spool) writeAll(ctx context.Context) error {
	for {
		group, err := s.nextGroup(ctx)
		if err != nil || group == nil {
			return err
		}
		err = s.write(ctx, group)
		s.mu.Lock()
		s.writing = time.Time{}
		if err != nil {
			s.waiting = append(group, s.waiting...)
		} else {
			s.queue.finish(group, nil)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// nextGroup waits for submissions. nil without an error: the spool was closed and all is written.
func (s *Spool) nextGroup(ctx context.Context) ([]*submission, error) {
	for {
		s.mu.Lock()
		if err := s.fenced; err != nil {
			s.mu.Unlock()
			return nil, err
		}
		group, closing := s.take(), s.closing
		if len(group) > 0 {
			s.writing = time.Now()
		}
		s.mu.Unlock()
		if len(group) > 0 || closing {
			return group, nil
		}
		select { // a context that ends as work arrives may write one more group: nobody can tell
		case <-s.work:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// write makes a group durable, however often the store fails: the same records with the same LSN go to a new segment until it says nil. An error is final.
func (s *Spool) write(ctx context.Context, group []*submission) error {
	for attempt := 1; ; attempt++ {
		err := s.tryWrite(ctx, group)
		if err == nil {
			s.well()
			return nil
		}
		if errors.Is(err, ErrFenced) {
			s.logger.Error("store claimed by another process", "err", err)
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.unwell(err, attempt)
		if err := pause(ctx, backoff(attempt)); err != nil {
			return err
		}
	}
}

// tryWrite writes a group once, and a CHECKPOINT behind it when the segment is a new one.
func (s *Spool) tryWrite(ctx context.Context, group []*submission) error {
	if s.active == nil || s.full(s.active) {
		if err := s.activate(ctx); err != nil {
			return err
		}
	}
	o, lsn := s.active, s.last+1 // the writer alone moves last
	b := builder{header: &o.header, at: o.valid, buf: s.buffer[:0], durable: s.last}
	pending := newContent()
	b.group(lsn, group, pending)
	if o.first == 0 {
		moved, err := s.layOutHead(&b, lsn+1, pending)
		if err != nil {
			return err
		}
		group = append(slices.Clip(group), moved)
	}
	s.keepBuffer(b.buf)
	if err := o.append(ctx, b.buf); err != nil {
		s.abandon(len(b.buf))
		return err
	}
	s.publish(o, pending, int64(len(b.buf)), group)
	return nil
}

// layOutHead appends what begins a segment, behind the group that may stand elsewhere too: MOVED for what is dead by then, so that segments of marks alone
// go as fast as they come, and a CHECKPOINT.
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
	c := s.checkpointNow()
	c.segments = slices.DeleteFunc(c.segments, func(t tableEntry) bool { return slices.Contains(numbers, t.number) })
	b.checkpoint(lsn+1, c, pending)
	return moved, nil
}

// maxKeptBuffer is the bytes of the write buffer that stay between groups. Chosen: twice groupTarget; greater groups are rare.
const maxKeptBuffer = 2 * groupTarget

func (s *Spool) keepBuffer(b []byte) {
	if cap(b) <= maxKeptBuffer {
		s.buffer = b
	}
}

// maxSegmentExtents and maxSegmentParks bound a segment's index in memory: 3 MiB and 2 MiB.
const (
	maxSegmentExtents = 64 << 10
	maxSegmentParks   = 8 << 10
)

// full tells whether the next group goes to another segment. One whose CHECKPOINT is bigger than usual grows until that is half of it.
func (s *Spool) full(o *openSegment) bool {
	return o.valid >= max(s.cfg.SegmentSize, 2*o.head) || o.content.extents >= maxSegmentExtents || len(o.content.parks)+len(o.content.unparks) >= maxSegmentParks
}

// activate goes on in a new segment: the one opened ahead, or one that is made at once.
func (s *Spool) activate(ctx context.Context) error {
	o := s.takeAhead()
	if o == nil {
		var err error
		if o, err = s.create(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	if s.active != nil {
		s.retired = append(s.retired, s.active)
	}
	s.mu.Unlock()
	s.active = o
	notify(s.tidy)
	return nil
}

// takeAhead gives the segment that was opened ahead. One whose number is no longer the highest is thrown away: segments are used in the order of their numbers.
func (s *Spool) takeAhead() *openSegment {
	s.mu.Lock()
	o := s.ahead
	s.ahead = nil
	late := o != nil && o.number() != s.numbers
	s.mu.Unlock()
	if !late {
		return o
	}
	_ = o.w.Close() // it holds nothing
	s.discard(o.number())
	return nil
}

// abandon leaves the active segment after a failed write or sync of n bytes. What was durable in it stays; the rest is written elsewhere.
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
	o.limit = s.last + 1
	s.grow(o.segment, int64(n))
	content := o.content
	o.segment.content = nil
	s.mu.Unlock()
	s.cacheContent(o.segment, content)
}

// publish shows a durable group: marks, index, parking, and the LSN.
func (s *Spool) publish(o *openSegment, pending *content, n int64, group []*submission) {
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
		for i := range sub.records {
			s.apply(&sub.records[i])
		}
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

// checkpointNow is all that the spool knows as of the last durable group, less what segments' own indexes hold.
func (s *Spool) checkpointNow() *checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &checkpoint{asOf: s.last, marks: make([]keyedMark, 0, len(s.marks)), audits: append([]ownAudit(nil), s.audits...)}
	for key, m := range s.marks {
		c.marks = append(c.marks, keyedMark{key, m})
	}
	for _, g := range s.inOrder() {
		c.segments = append(c.segments, g.tableEntry())
	}
	for key, l := range s.index.lanes {
		if l.highest != 0 {
			c.highest = append(c.highest, laneHighest{key, l.highest})
		}
	}
	return c
}

const (
	minBackoff = 10 * time.Millisecond // chosen: a store that hiccups once costs no more than a slow sync
	maxBackoff = 5 * time.Second       // chosen: a healed store is used again within seconds
)

// backoff is the wait after the attempt'th failure in a row: half to all of a time that doubles.
func backoff(attempt int) time.Duration {
	d := min(maxBackoff, minBackoff<<min(attempt-1, 16))
	return d/2 + rand.N(d/2+1)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
