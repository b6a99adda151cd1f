package router

import (
	"context"
	"errors"
	"fmt"
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
}

// settlement is a submitted batch and the tag to ack when it is durable.
type settlement struct {
	ticket *spool.Ticket
	tag    federation.Tag
	batch  *federation.Batch
	then   func(error) // told when durable; nil for none
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

// collect waits for a first delivery and takes more until the batch is full, the lane has lingered, or nothing waits.
func (in *ingest) collect(ctx context.Context) ([]taken, error) {
	c := newCollection(in)
	select {
	case d := <-in.taken:
		c.add(d)
	case q := <-in.redrives:
		return nil, in.again(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	linger := in.seals.linger(time.Now())
	if linger <= 0 {
		c.addWaiting()
		return c.list, nil
	}
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for !c.full() {
		// Any ready order gives the same result: a delivery that loses against the timer starts the next batch.
		select {
		case d := <-in.taken:
			c.add(d)
		case <-timer.C:
			c.addWaiting()
			return c.list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return c.list, nil
}

// taken is a delivery with the time at which it came.
type taken struct {
	federation.Delivery
	at time.Time
}

type collection struct {
	in    *ingest
	list  []taken
	bytes int
}

func newCollection(in *ingest) *collection { return &collection{in: in} }

func (c *collection) full() bool {
	cfg := &c.in.lane.r.cfg
	return len(c.list) >= cfg.BatchEntries || c.bytes >= cfg.BatchBytes
}

func (c *collection) addWaiting() {
	for !c.full() {
		select {
		case d := <-c.in.taken:
			c.add(d)
		default:
			return
		}
	}
}

// add keeps the order of one incarnation. When a new one begins, what was collected of the old one is dropped: it is
// not stored, and the broker hands it out again, flagged.
func (c *collection) add(d federation.Delivery) {
	in := c.in
	if d.Tag.Incarnation < in.minIncarnation {
		return
	}
	if d.Tag.Incarnation != in.lastSeen {
		c.list, c.bytes = c.list[:0], 0
		in.lastSeen = d.Tag.Incarnation
	}
	c.list = append(c.list, taken{d, time.Now()})
	c.bytes += d.Message.Size()
}

// submit seals and hands to the store. A full store pauses the lane: nothing was numbered, the broker keeps the messages.
func (in *ingest) submit(ctx context.Context, list []taken) error {
	sealed, err := in.seals.seal(list, in.current())
	if err != nil {
		return in.refuse(ctx, "a message cannot be sealed: "+err.Error(), "see the log; move the first message of the queue "+in.current().Source.Queue+" elsewhere")
	}
	ticket, err := in.lane.r.cfg.Spool.Submit(ctx, sealed.records...)
	switch {
	case isFull(err):
		return in.refuse(ctx, "the store is full: "+err.Error(), "give the store more room, raise store-quota, empty the parking, or let the peers catch up: cloudqueue status", sealed.records...)
	case errors.Is(err, federation.ErrTooLarge) && len(list) > 1:
		return in.submitHalves(ctx, list)
	case errors.Is(err, federation.ErrTooLarge):
		return in.refuse(ctx, fmt.Sprintf("the first message of the queue %s, of %d bytes, is larger than the store can park: %v", in.current().Source.Queue, list[0].Message.Size(), err),
			"stop the router, take the message out (rabbitmqadmin get queue="+in.current().Source.Queue+" ackmode=ack_requeue_false), start it; and keep such messages out: max_message_size = 16000000 in rabbitmq.conf")
	case err != nil:
		return err
	}
	in.seals.bound(sealed)
	in.lane.hold("", "")
	return in.handOn(settlement{ticket: ticket, tag: list[len(list)-1].Tag, batch: sealed.batch})
}

// submitHalves finds the message that is too large: what came before it goes on, and it is the queue's first when it is refused.
func (in *ingest) submitHalves(ctx context.Context, list []taken) error {
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
		return ctx.Err()
	}
	in.seals.bound(sealed)
	return in.handOn(settlement{ticket: ticket, batch: sealed.batch, then: func(err error) { q.done <- err }})
}

// handOn gives a bound batch to settle, which outlives the route: only the router's end takes it away.
func (in *ingest) handOn(s settlement) error {
	work := in.lane.r.ctx
	select {
	case in.settling <- s:
		return nil
	case <-work.Done():
		return work.Err()
	}
}

// refuse gives everything back to the broker, waits, and takes again. Nothing is lost and nothing was numbered. It waits until
// the store has room for just what it refused: that a large batch waits says nothing of other lanes. What was refused for
// another reason than room is tried again at once; only a batch that goes through tells that it is over.
func (in *ingest) refuse(ctx context.Context, reason, fix string, full ...spool.Record) error {
	in.lane.hold(reason, fix)
	if err := in.consumer.Pause(ctx); err != nil {
		return err
	}
	in.minIncarnation = in.lastSeen + 1
	if err := sleep(ctx, refusePause); err != nil {
		return err
	}
	for isFull(in.lane.r.cfg.Spool.Fits(full...)) {
		if err := sleep(ctx, refusePause); err != nil {
			return err
		}
	}
	if len(full) > 0 {
		in.lane.hold("", "")
	}
	in.consumer.Resume()
	return nil
}

func isFull(err error) bool {
	return errors.Is(err, spool.ErrFull) || errors.Is(err, spool.ErrLaneFull)
}

// refusePause is long enough that a full store is not asked all the time, and short beside any repair.
const refusePause = time.Second

// settle acks and releases in the order of submission. The ack of a tag follows the Commit of every batch up to it (4.2).
func (in *ingest) settle(ctx context.Context) error {
	for s := range in.settling {
		if err := in.await(ctx, s.ticket); err != nil {
			return err
		}
		in.lane.committed(s.batch)
		if s.then != nil {
			s.then(nil)
			continue
		}
		if err := in.consumer.Ack(ctx, s.tag); err != nil && ctx.Err() != nil {
			return err // any other error means: unknown; the broker hands it out again, flagged
		}
	}
	return nil
}

// await waits for a commit. When the store is unwell for too long, what is unacked goes back to the broker (before its
// consumer timeout closes the channel), and taking starts again after the commit.
func (in *ingest) await(ctx context.Context, t *spool.Ticket) error {
	timer := time.NewTimer(in.lane.r.cfg.UnwellPause)
	defer timer.Stop()
	select {
	case <-t.Done():
		return t.Wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	in.lane.hold("the store does not answer: "+in.lane.r.storeError(), "repair the store; the messages wait in the broker")
	if err := in.consumer.Pause(ctx); err != nil {
		return err
	}
	err := t.Wait(ctx)
	in.consumer.Resume()
	in.lane.hold("", "")
	return err
}

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
