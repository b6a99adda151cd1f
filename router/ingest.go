package router

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"

	"golang.org/x/sync/errgroup"
)

// ingest takes one route's messages from the broker into its lane: consume, seal, commit, ack.
//
// Three goroutines, joined by bounded queues: take (Next), seal (numbers, seals, submits), settle (waits for commits in
// order, then acks and lets the batch leave). Only seal assigns offsets.
type ingest struct {
	lane     *outLane
	route    topology.Route // guarded by lane.mu
	detached bool           // the route is gone, its queue drains; guarded by lane.mu
	consumer Consumer
	taken    chan federation.Delivery
	settling chan settlement
	redrives chan redrive // parked messages that are sealed again; capacity 0
	seals    *sealer
	// minIncarnation drops what was taken before a Pause: the broker hands it out again. Owned by seal.
	minIncarnation uint64
	lastSeen       uint64
	cancel         context.CancelFunc
	done           chan struct{} // closed when run has returned

	// pausing guards paused between seal and settle, and is held over Resume, which does not wait: no Pause may come between.
	pausing sync.Mutex
	paused  [holders]bool
}

// redrive is a parked message that gets a new offset; its parking ends in the same group.
type redrive struct {
	park   spool.ParkRecord
	unpark spool.UnparkRecord
	done   chan error // capacity 1
}

// Queues of ingest. The consumer's prefetch bounds their bytes; these bound their length.
const (
	takenQueue    = 256 // deliveries, as many as seal takes in one go without waiting
	settlingQueue = 16  // batches in commit; one group syncs, the next collects, more would only wait
)

func newIngest(l *outLane, route topology.Route, consumer Consumer) (*ingest, error) {
	seals, err := newSealer(l)
	if err != nil {
		return nil, err
	}
	return &ingest{lane: l, route: route, consumer: consumer, seals: seals,
		taken: make(chan federation.Delivery, takenQueue), settling: make(chan settlement, settlingQueue), redrives: make(chan redrive)}, nil
}

func (in *ingest) current() topology.Route {
	in.lane.mu.Lock()
	defer in.lane.mu.Unlock()
	return in.route
}

// run ends with the context, after everything submitted is durable and acked, or when the router's own context ends.
func (in *ingest) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return in.take(ctx) })
	g.Go(func() error {
		defer close(in.settling)
		return in.seal(ctx)
	})
	g.Go(func() error { return in.settle(in.lane.r.ctx) })
	err := g.Wait()
	for s := range in.settling { // of a settle that has ended
		s.tell(err)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return errors.Join(err, in.consumer.Close(closing))
}

func (in *ingest) take(ctx context.Context) error {
	for {
		d, err := in.consumer.Next(ctx)
		if err != nil {
			return err
		}
		select {
		case in.taken <- d:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (in *ingest) seal(ctx context.Context) error {
	for {
		batch, err := in.collect(ctx)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		if err := in.submit(ctx, batch); err != nil {
			return err
		}
	}
}

// submit seals and hands to the store. A full store pauses the lane: nothing was numbered, the broker keeps the messages.
func (in *ingest) submit(ctx context.Context, list []takenDelivery) error {
	sealed, err := in.seals.seal(list, in.current())
	if errors.Is(err, federation.ErrTooLarge) && len(list) > 1 { // together; each by itself fits, or is parked
		return in.submitHalves(ctx, list)
	}
	if err != nil {
		return in.refuse(ctx, "a message cannot be sealed: "+err.Error(), "see the log; move the first message of the queue "+in.current().Source.Queue+" elsewhere", nil)
	}
	ticket, err := in.lane.r.cfg.Spool.Submit(ctx, sealed.records...)
	switch {
	case isFull(err):
		fits, bad := in.lane.r.cfg.Spool.Claim(sealed.records...)
		if bad != nil {
			return bad
		}
		reason, fix := FullStore(err)
		return in.refuse(ctx, "the store is full: "+reason, fix, fits)
	case errors.Is(err, federation.ErrTooLarge) && len(list) > 1:
		return in.submitHalves(ctx, list)
	case errors.Is(err, federation.ErrTooLarge):
		return in.refuse(ctx, fmt.Sprintf("the first message of the queue %s, of %d bytes, is larger than the store can park: %v", in.current().Source.Queue, list[0].Message.Size(), err),
			"stop the router, take the message out (rabbitmqadmin get queue="+in.current().Source.Queue+" ackmode=ack_requeue_false), start it; and keep such messages out: max_message_size = 16000000 in rabbitmq.conf", nil)
	case err != nil:
		return err
	}
	in.seals.bound(sealed)
	in.lane.hold(bySeal, "", "")
	return in.handOn(settlement{ticket: ticket, tag: list[len(list)-1].Tag, batch: sealed.batch})
}

// submitHalves finds the message that is too large: what came before it goes on, and it is the queue's first when it is refused.
func (in *ingest) submitHalves(ctx context.Context, list []takenDelivery) error {
	half := len(list) / 2
	if err := in.submit(ctx, list[:half]); err != nil {
		return err
	}
	if list[half].Tag.Incarnation < in.minIncarnation {
		return nil // the first half was refused: all of it is given back
	}
	return in.submit(ctx, list[half:])
}

// again seals one parked message under a new offset.
func (in *ingest) again(ctx context.Context, q redrive) error {
	sealed, err := in.seals.sealEntry(q.park, q.unpark, in.current())
	if err != nil {
		q.done <- err
		return nil
	}
	ticket, err := in.lane.r.cfg.Spool.Submit(ctx, sealed.records...)
	if err != nil {
		q.done <- err
		if isFull(err) || errors.Is(err, federation.ErrTooLarge) {
			return nil
		}
		return err
	}
	in.seals.bound(sealed)
	return in.handOn(settlement{ticket: ticket, batch: sealed.batch, then: func(err error) { q.done <- err }})
}

// refuse gives everything back to the broker, waits, and takes again. Nothing is lost and nothing was numbered. It waits until
// the store has room for just what it refused: that a large batch waits says nothing of other lanes. What was refused for
// another reason than room is looked at again after the pause; only a batch that goes through tells that it is over.
func (in *ingest) refuse(ctx context.Context, reason, fix string, full func() error) error {
	in.lane.hold(bySeal, reason, fix)
	if err := in.pause(ctx, bySeal); err != nil {
		return err
	}
	in.minIncarnation = in.lastSeen + 1
	pause := refusePause
	if full == nil {
		pause = lookPause
	}
	if err := sleep(ctx, pause); err != nil {
		return err
	}
	for full != nil && isFull(full()) {
		if err := sleep(ctx, refusePause); err != nil {
			return err
		}
	}
	if full != nil {
		in.lane.hold(bySeal, "", "")
	}
	in.resume(bySeal)
	return nil
}

// pause gives everything unacked back to the broker. Nothing is taken until everyone who paused has resumed.
func (in *ingest) pause(ctx context.Context, by holder) error {
	in.pausing.Lock()
	in.paused[by] = true
	in.pausing.Unlock()
	return in.consumer.Pause(ctx)
}

func (in *ingest) pauses(by holder) bool {
	in.pausing.Lock()
	defer in.pausing.Unlock()
	return in.paused[by]
}

func (in *ingest) resume(by holder) {
	in.pausing.Lock()
	defer in.pausing.Unlock()
	was := in.paused[by]
	in.paused[by] = false
	if was && in.paused == [holders]bool{} {
		in.consumer.Resume()
	}
}

func isFull(err error) bool {
	return errors.Is(err, spool.ErrFull) || errors.Is(err, spool.ErrLaneFull)
}

// refusePause is long enough that a full store is not asked all the time, and short beside any repair.
const refusePause = time.Second

// lookPause is between two looks at a message that only a person can take out of its queue: each brings it here whole, 16 MiB
// and more, and flags what came with it. The localbroker's consumer looks as seldom at what it cannot take.
const lookPause = time.Minute

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
