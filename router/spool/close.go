package spool

import (
	"context"
	"errors"
	"time"
)

// finishTimeout bounds what Run does after the writer has ended well: footers, and removing what was opened ahead. None
// of it is needed for correctness.
const finishTimeout = 5 * time.Second

// endRun ends what is open. reason is why the writer ended; nil: it was closed and has written everything.
func (s *Spool) endRun(reason error) error {
	if reason == nil {
		ctx, cancel := context.WithTimeout(context.Background(), finishTimeout)
		s.leaveInOrder(ctx)
		cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = ErrClosed
	if errors.Is(reason, ErrFenced) {
		s.ended = reason
	}
	rest := s.queue.waiting
	s.queue.waiting = nil
	s.queue.end(rest, s.ended)
	s.letIn()
	return s.closeWriters()
}

// leaveInOrder gives every segment its footer and removes what was opened ahead.
func (s *Spool) leaveInOrder(ctx context.Context) {
	s.retire()
	if ahead := s.takeAhead(); ahead != nil {
		s.throwAway(ahead)
	}
	if err := errors.Join(s.writeFooters(ctx), s.removeGarbage(ctx)); err != nil {
		s.logger.Warn("store left without a footer, or with an empty segment; the next start reads more", "err", err)
	}
}

// closeWriters closes what is still open after an end in disorder. Callers hold mu.
func (s *Spool) closeWriters() error {
	var errs []error
	for _, o := range s.takeOpen() {
		errs = append(errs, o.w.Close())
	}
	return errors.Join(errs...)
}

// Close takes no more submissions, lets Run write what waits, as long as ctx lasts, and closes the store. What it could
// not write is unknown.
func (s *Spool) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	cancel := s.cancel
	if cancel == nil && s.ended == nil {
		s.ended = ErrClosed // Run never began, and never will
	}
	s.mu.Unlock()
	notify(s.work)
	if cancel != nil {
		select {
		case <-s.done:
		case <-ctx.Done():
			cancel()
			<-s.done // Run ends as soon as the store gives up on its context
		}
	} else if err := s.closeUnstarted(ctx); err != nil {
		return errors.Join(err, s.readers.close(), s.store.Close())
	}
	return errors.Join(s.readers.close(), s.store.Close())
}

// closeUnstarted ends an opening that never ran. Its segment gets a footer, which says that what begins it is durable:
// without it the next opening would write that again, and each one more.
func (s *Spool) closeUnstarted(ctx context.Context) error {
	if !s.readOnly {
		ctx, cancel := context.WithTimeout(ctx, finishTimeout)
		s.leaveInOrder(ctx)
		cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.end(s.queue.waiting, ErrClosed)
	s.queue.waiting = nil
	s.letIn()
	return s.closeWriters()
}
