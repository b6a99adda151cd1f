package spool

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run writes what is submitted and keeps the segments in order, until Close has let it write everything (nil), its
// context ends, or another process has claimed the store (ErrFenced). It is called once. When it returns, tickets that
// are still open end with ErrClosed: their records are unknown.
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
	return errors.Join(err, s.endRun(err))
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

// writeAll is the writer: one group syncs while the next collects in the queue; when the store is idle a submission is
// written at once.
func (s *Spool) writeAll(ctx context.Context) error {
	for {
		group, err := s.nextGroup(ctx)
		if err != nil || group == nil {
			return err
		}
		if err := s.write(ctx, group); err != nil {
			s.mu.Lock()
			s.writing = time.Time{}
			s.queue.waiting = append(group, s.queue.waiting...)
			s.mu.Unlock()
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
		group, closing := s.queue.take(), s.closing
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

// write makes a group durable, however often the store fails: the same records with the same LSN go to a new segment
// until it says nil. An error is final.
func (s *Spool) write(ctx context.Context, group []*submission) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		err := s.tryWrite(ctx, group)
		switch {
		case err == nil && attempt > 1:
			s.logger.Info("store well again", "epoch", s.identity.Epoch, "attempts", attempt,
				"after", time.Since(began))
			return nil
		case err == nil:
			return nil
		case errors.Is(err, ErrFenced):
			s.logger.Error("store claimed by another process", "err", err)
			return err
		case ctx.Err() != nil:
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
		if err := s.roll(ctx); err != nil {
			return err
		}
	}
	o, lsn := s.active, s.state.last+1 // the writer alone moves last
	b := builder{header: &o.header, at: o.valid, buf: s.buffer[:0], durable: s.state.last}
	pending := newContent()
	b.group(lsn, group, pending)
	var own *submission
	if o.first == 0 {
		var err error
		if own, err = s.layOutHead(&b, lsn+1, pending); err != nil {
			return err
		}
	}
	s.keepBuffer(b.buf)
	if err := o.append(ctx, b.buf); err != nil {
		s.abandon(len(b.buf))
		return err
	}
	s.publish(o, pending, int64(len(b.buf)), group, own)
	// batches stop before they eat what was set aside for marks, when somebody else fills the disk; the keeper says
	// what is wrong
	_ = s.refreshSpace(ctx)
	return nil
}

// maxKeptBuffer is the bytes of the write buffer that stay between groups. Chosen: twice groupTarget; greater groups
// are rare.
const maxKeptBuffer = 2 * groupTarget

func (s *Spool) keepBuffer(b []byte) {
	if cap(b) <= maxKeptBuffer {
		s.buffer = b
	}
}
