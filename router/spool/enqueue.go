package spool

import (
	"context"
	"fmt"
	"slices"
)

// newcomer is a submission that is not queued yet. Nobody passes one that waits, so that a large one gets its turn
// however many small ones come. (G6)
type newcomer struct {
	sub     *submission
	limited bool          // the quotas hold for it
	decided chan struct{} // closed when it is queued or refused
	err     error         // why it was refused; set before decided is closed
}

// enqueue waits for room in the queue. limited submissions obey the quotas.
func (s *Spool) enqueue(ctx context.Context, sub *submission, limited bool) (*Ticket, error) {
	n := &newcomer{sub: sub, limited: limited, decided: make(chan struct{})}
	if err := s.arrive(n); err != nil {
		return nil, err
	}
	select { // both may be ready: leave knows whether it was decided
	case <-n.decided:
	case <-ctx.Done():
		if s.leave(n) {
			return nil, fmt.Errorf("queue of the spool: %w", ctx.Err())
		}
	}
	if n.err != nil {
		return nil, n.err
	}
	notify(s.work)
	return &Ticket{sub}, nil
}

// arrive puts n at the end of the line, unless it is refused at once.
func (s *Spool) arrive(n *newcomer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.turnsAway(n); err != nil {
		return err
	}
	s.queue.line = append(s.queue.line, n)
	s.letIn()
	return nil
}

// leave takes n out of the line. false: it was decided before.
func (s *Spool) leave(n *newcomer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.queue.line, n)
	if at < 0 {
		return false
	}
	s.queue.line = slices.Delete(s.queue.line, at, at+1)
	s.letIn() // the next one may be small enough
	return true
}

// letIn decides about those at the head of the line, as far as there is room. Callers hold mu.
func (s *Spool) letIn() {
	q := &s.queue
	for len(q.line) > 0 {
		n := q.line[0]
		if n.err = s.turnsAway(n); n.err == nil {
			if !q.fits(n.sub) {
				return
			}
			q.push(n.sub)
		}
		q.line = slices.Delete(q.line, 0, 1)
		close(n.decided)
	}
}

// turnsAway tells why n cannot be queued, however long it waits; nil when it can. Callers hold mu.
func (s *Spool) turnsAway(n *newcomer) error {
	switch {
	case s.ended != nil:
		return s.ended
	case s.closing:
		return ErrClosed
	case n.limited:
		return s.admit(&n.sub.claim)
	}
	return nil
}
