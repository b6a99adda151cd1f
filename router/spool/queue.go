package spool

import (
	"context"

	"cloudqueue/federation"
)

// queue is what was submitted and is not durable yet, in the order of the calls. Spool.mu guards it.
type queue struct {
	waiting   []*submission
	bytes     int                        // waiting and being written
	maxBytes  int                        // of them; a greater submission is let in when there is no other
	laneBytes map[federation.Lane]uint64 // of batches among them
	parks     int                        // PARKs among them
	line      []*newcomer                // who waits for room, in the order of their calls
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

// Wait waits until the records are durable (nil). Other errors leave it unknown: the context's, or ErrClosed when the
// spool ended first. What is known already counts more than a context that has ended.
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

func newQueue(maxBytes int) queue {
	return queue{maxBytes: maxBytes, laneBytes: make(map[federation.Lane]uint64)}
}

func (q *queue) fits(s *submission) bool { return q.bytes == 0 || q.bytes+s.size <= q.maxBytes }

func (q *queue) push(s *submission) {
	q.waiting = append(q.waiting, s)
	q.bytes += s.size
	q.parks += s.claim.parks
	for lane, n := range s.claim.lanes {
		q.laneBytes[lane] += n
	}
}

// groupTarget is the bytes at which a group takes no further submission. Chosen: 4 MiB sync in about the time of their
// own write; more delays the first of them.
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

// end ends submissions: with nil they are durable. Whoever calls it lets the next ones in.
func (q *queue) end(group []*submission, err error) {
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
}

// Submit queues records and returns before they are durable. Submissions become durable in the order of the calls; the
// records of one stand in one group, so that a crash keeps all of them or none. Submit blocks only while MaxQueuedBytes
// are waiting, or one that came before waits for room. The batches' bytes and the records' slices must not change any
// more. Errors: ErrFull and ErrLaneFull when a quota refuses batches or parked messages (marks always have room),
// ErrClosed, ErrReadOnly, federation.ErrTooLarge, the context's, and one for a record that no log may hold. After an
// error nothing was queued.
func (s *Spool) Submit(ctx context.Context, records ...Record) (*Ticket, error) {
	sub, err := encodeRecords(records)
	if err != nil {
		return nil, err
	}
	return s.enqueue(ctx, sub, true)
}

// Commit submits records and waits. nil: all of them are durable. After an error of Submit nothing was queued. Any
// other error means that the outcome is unknown: the records stay queued and may still become durable.
func (s *Spool) Commit(ctx context.Context, records ...Record) error {
	t, err := s.Submit(ctx, records...)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}
