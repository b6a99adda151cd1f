package spool

import (
	"context"
	"fmt"

	"cloudqueue/federation"
)

// queue is what was submitted and is not durable yet, in the order of the calls. Spool.mu guards it.
type queue struct {
	waiting   []*submission
	bytes     int                        // waiting and being written
	laneBytes map[federation.Lane]uint64 // of batches among them
	parks     int                        // PARKs among them
	room      chan struct{}              // closed when bytes go down, and made anew
}

// submission is the records of one Submit; they stay in one group.
type submission struct {
	records []encoded
	size    int // bytes in a group's body
	claim   claim
	done    chan struct{}
	err     error // set before done is closed
}

// Ticket follows one submission.
type Ticket struct{ s *submission }

// Done is closed when the records are durable, or when the spool has ended before it knew.
func (t *Ticket) Done() <-chan struct{} { return t.s.done }

// Wait waits until the records are durable (nil). Other errors leave it unknown: the context's, or ErrClosed when the spool ended first.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.s.done:
		return t.s.err
	default:
	}
	select {
	case <-t.s.done:
		return t.s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newQueue() queue {
	return queue{laneBytes: make(map[federation.Lane]uint64), room: make(chan struct{})}
}

func (q *queue) push(s *submission) {
	q.waiting = append(q.waiting, s)
	q.bytes += s.size
	q.parks += s.claim.parks
	for lane, n := range s.claim.lanes {
		q.laneBytes[lane] += n
	}
}

// groupTarget is the bytes at which a group takes no further submission. Chosen: 4 MiB sync in about the time of their own write; more delays the first of them.
const groupTarget = 4 << 20

// take removes the submissions of the next group: at least one, and no more than groupTarget asks for.
func (q *queue) take() (group []*submission) {
	size := 0
	for i, s := range q.waiting {
		if i > 0 && size+s.size > groupTarget {
			break
		}
		size += s.size
		group = append(group, s)
	}
	n := copy(q.waiting, q.waiting[len(group):])
	clear(q.waiting[n:])
	q.waiting = q.waiting[:n]
	return group
}

// finish ends submissions and makes room.
func (q *queue) finish(group []*submission, err error) {
	for _, s := range group {
		q.bytes -= s.size
		q.parks -= s.claim.parks
		for lane, n := range s.claim.lanes {
			if q.laneBytes[lane] -= n; q.laneBytes[lane] == 0 {
				delete(q.laneBytes, lane)
			}
		}
		s.err = err
		close(s.done)
	}
	close(q.room)
	q.room = make(chan struct{})
}

// Submit queues records and returns before they are durable. Submissions become durable in the order of the calls; the records of one stand in one
// group, so that a crash keeps all of them or none. Submit blocks only while MaxQueuedBytes are waiting. The batches' bytes and the records' slices must not change any more.
// Errors: ErrFull and ErrLaneFull when a quota refuses batches or parked messages (marks always have room), ErrClosed, ErrReadOnly, federation.ErrTooLarge,
// the context's, and one for a record that no log may hold. After an error nothing was queued.
func (s *Spool) Submit(ctx context.Context, records ...Record) (*Ticket, error) {
	sub, err := encodeRecords(records)
	if err != nil {
		return nil, err
	}
	return s.enqueue(ctx, sub, true)
}

// Commit submits records and waits. nil: all of them are durable. After another error than those of Submit nobody knows: they stay queued and may become durable later.
func (s *Spool) Commit(ctx context.Context, records ...Record) error {
	t, err := s.Submit(ctx, records...)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}

// enqueue waits for room in the queue. limited submissions obey the quota.
func (s *Spool) enqueue(ctx context.Context, sub *submission, limited bool) (*Ticket, error) {
	for {
		room, err := s.tryEnqueue(sub, limited)
		if err != nil {
			return nil, err
		}
		if room == nil {
			notify(s.work)
			return &Ticket{sub}, nil
		}
		select { // either order: with room the next try decides, without it the caller is told
		case <-room:
		case <-ctx.Done():
			return nil, fmt.Errorf("queue of the spool: %w", ctx.Err())
		}
	}
}

// tryEnqueue queues sub, or gives the channel that tells when to try again.
func (s *Spool) tryEnqueue(sub *submission, limited bool) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return nil, s.ended
	}
	if s.closing {
		return nil, ErrClosed
	}
	if limited {
		if err := s.admit(&sub.claim); err != nil {
			return nil, err
		}
	}
	if s.queue.bytes > 0 && s.queue.bytes+sub.size > s.cfg.MaxQueuedBytes {
		return s.room, nil
	}
	s.push(sub)
	return nil, nil
}
