package router

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// settlement is a submitted batch and the tag to ack when it is durable.
type settlement struct {
	ticket *spool.Ticket
	tag    federation.Tag
	batch  *federation.Batch
	then   func(error) // told when durable, or why that is not known; nil for none
}

// handOn gives a bound batch to settle, which outlives the route: only the router's end takes it away.
func (in *ingest) handOn(s settlement) error {
	work := in.lane.r.ctx
	select {
	case in.settling <- s:
		return nil
	case <-work.Done():
		s.tell(work.Err())
		return work.Err()
	}
}

// settle acks and releases in the order of submission. The ack of a tag follows the Commit of every batch up to it (4.2).
func (in *ingest) settle(ctx context.Context) error {
	for s := range in.settling {
		if err := in.await(ctx, s.ticket); err != nil {
			s.tell(err)
			return err
		}
		in.lane.committed(s.batch)
		if s.then != nil {
			s.tell(nil)
			continue
		}
		if err := in.consumer.Ack(ctx, s.tag); err != nil && ctx.Err() != nil {
			return err // any other error means: unknown; the broker hands it out again, flagged
		}
	}
	return nil
}

// await waits for a commit, and shows it when the store does not answer.
func (in *ingest) await(ctx context.Context, t *spool.Ticket) error {
	ticker := time.NewTicker(storeCheck)
	defer ticker.Stop()
	for began := time.Now(); ; {
		// Any ready order gives the same result: a tick too many changes nothing.
		select {
		case <-t.Done():
			in.lane.hold(bySettle, "", "")
			in.resume(bySettle)
			return t.Wait(ctx)
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if err := in.storeIsSlow(ctx, time.Since(began) >= in.lane.r.cfg.UnwellPause); err != nil {
				return err
			}
		}
	}
}

// storeIsSlow holds the lane while the store does not answer. After a long time what is unacked goes back to the broker, before its
// consumer timeout closes the channel; taking starts again after the commit.
func (in *ingest) storeIsSlow(ctx context.Context, long bool) error {
	if h := in.lane.r.cfg.Spool.Health(); long || h.Condition == spool.Unwell {
		reason, fix := StoreTrouble(in.lane.r.cfg.Spool.Place(), h)
		in.lane.hold(bySettle, reason, fix)
	}
	if !long || in.pauses(bySettle) {
		return nil
	}
	return in.pause(ctx, bySettle)
}

// storeCheck is how often a lane that waits for the store asks how it is. Chosen: soon enough for a person who looks.
const storeCheck = time.Second

// tell answers who waits for a redrive. After an error it may be in the store or not.
func (s settlement) tell(err error) {
	if s.then == nil {
		return
	}
	if err != nil {
		err = fmt.Errorf("the router stops; whether the message is sealed again, the parking tells after its start: %w", err)
	}
	s.then(err)
}
