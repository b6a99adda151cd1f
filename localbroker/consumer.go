package localbroker

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"cloudqueue/federation"
)

// Consumer takes the messages of one source: exclusively, with manual acks, on a channel of its own. Each channel is an
// incarnation; what is unacked when it ends goes back to the queue, and the next incarnation brings it again, in order
// and redelivered.
//
// Its keeper, a goroutine of Broker.Run, asserts queue and bindings, consumes, and starts again when anything ends. It
// never gives up.
type Consumer struct {
	broker *Broker
	queue  string
	own    bool // the queue is ours: declared and bound by us
	box    *stateBox

	arrived chan struct{} // capacity 1, to Next: there may be deliveries, or it is over
	kick    chan struct{} // capacity 1, to the keeper: something was asked for
	done    chan struct{} // closed when the keeper has ended

	mu          sync.Mutex // guards what follows, between the callers, the keeper and the reading goroutine
	source      federation.Source
	stale       []binding // may exist and shall not
	asked       uint64    // counts changes of source and stale
	paused      bool
	closed      bool
	serving     bool // an incarnation exists
	current     *attachment
	incarnation uint64
	changed     signal // stale, serving

	prefetch prefetch // guarded by mu
	stuck    bool     // owned by the keeper: the last incarnation ended before a message that is too large
	seat     *seats   // owned by the keeper: where the lane has a seat, nil if nowhere
	differs  string   // owned by the keeper: how the own queue differs from what we would declare
}

// Consumer makes a consumer of source. It works while Run does, until it is closed. What its own queue is bound by as
// left says, and source does not, is unbound once source is bound.
func (b *Broker) Consumer(source federation.Source, left ...federation.Source) *Consumer {
	c := b.newConsumer(source)
	c.stale = c.unwanted(source, left...)
	b.adopt(c)
	return c
}

// Leftover makes a consumer of the own queue of a source that is no longer wanted: it begins as after Detach, from what
// left says too. The queue is neither declared nor bound again; once somebody has deleted it the consumer is closed, as
// its state says, until a SetSource with an exchange wants it back.
func (b *Broker) Leftover(source federation.Source, left ...federation.Source) *Consumer {
	c := b.newConsumer(source)
	c.own = true
	c.change(federation.Source{Queue: c.queue}, left)
	b.adopt(c)
	return c
}

// unwanted are the bindings that earlier sources of the own queue named and source does not.
func (c *Consumer) unwanted(source federation.Source, earlier ...federation.Source) []binding {
	wanted := bindings(source)
	var all []binding
	for _, e := range earlier {
		for _, b := range bindings(e) {
			if c.own && e.Queue == c.queue && !slices.Contains(wanted, b) && !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all
}

func (b *Broker) newConsumer(source federation.Source) *Consumer {
	return &Consumer{broker: b, queue: source.Queue, own: source.Exchange != "", source: source,
		box:     newStateBox(b.cfg.Logger.With("part", "consumer", "queue", source.Queue), stateWaiting, "not started"),
		arrived: make(chan struct{}, 1), kick: make(chan struct{}, 1), done: make(chan struct{}),
		prefetch: newPrefetch(b.cfg.PrefetchBytes, b.cfg.MaxPrefetch)}
}

// Next gives the next delivery. It blocks while there is none, across reconnects and while paused. One goroutine at a
// time may call it. The caller owns the message's bytes. Errors: ctx's; ErrClosed after Close or Run.
func (c *Consumer) Next(ctx context.Context) (federation.Delivery, error) {
	for {
		d, ok, closed := c.pop()
		if ok {
			return d, nil
		}
		if closed {
			return d, ErrClosed
		}
		select { // after arrived everything is looked at again
		case <-c.arrived:
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}

func (c *Consumer) pop() (d federation.Delivery, ok, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.paused || c.current == nil || c.current.ready.len() == 0 {
		return d, false, c.closed
	}
	d = c.current.ready.pop()
	c.current.handed = d.Tag.Number
	return d, true, false
}

// Ack acknowledges every delivery of upTo's incarnation up to it. When that incarnation is over it does nothing: its
// messages come again. Nil means that the ack is on its way, not that it arrived. An error is a bug of the caller: a
// tag that Next did not give.
func (c *Consumer) Ack(_ context.Context, upTo federation.Tag) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.current
	if a == nil || a.incarnation != upTo.Incarnation {
		return nil
	}
	if upTo.Number > a.handed {
		return fmt.Errorf("ack of delivery %d, the last one given is %d", upTo.Number, a.handed)
	}
	if a.settle(upTo.Number) {
		a.wire.ack(upTo.Number)
	}
	return nil
}

// Pause ends the incarnation: cancel, then everything unacked is requeued, in order. Next gives nothing from now until
// Resume. Nil: the broker has it all back, or the connection is gone, which comes to the same. Errors: ctx's; the pause
// holds all the same.
func (c *Consumer) Pause(ctx context.Context) error {
	c.mu.Lock()
	c.paused = true
	c.mu.Unlock()
	c.wakeKeeper()
	return c.await(ctx, func() bool { return !c.serving })
}

// Resume ends a pause.
func (c *Consumer) Resume() {
	c.mu.Lock()
	c.paused = false
	c.mu.Unlock()
	c.wakeKeeper()
}

// SetSource changes exchange, keys and declare type: first what is new is bound, and when all of it is, what is old is
// unbound. The queue and what is in it stay. Another queue would be another consumer, so it must be the same. A source
// without an exchange is what Detach wishes for, without waiting. What left says is old too.
func (c *Consumer) SetSource(source federation.Source, left ...federation.Source) {
	if source.Queue != c.queue {
		panic(fmt.Sprintf("the consumer of queue %q is given the source of queue %q", c.queue, source.Queue))
	}
	c.mu.Lock()
	c.change(source, left)
	c.mu.Unlock()
	c.wakeKeeper()
}

// change replaces the source. The caller holds mu.
func (c *Consumer) change(source federation.Source, left []federation.Source) {
	wanted := bindings(source)
	c.stale = slices.DeleteFunc(c.stale, func(b binding) bool { return slices.Contains(wanted, b) })
	for _, b := range c.unwanted(source, append([]federation.Source{c.source}, left...)...) {
		if !slices.Contains(c.stale, b) {
			c.stale = append(c.stale, b)
		}
	}
	c.source = source
	c.asked++
}

// Detach unbinds the own queue from everything that its sources named, and keeps the queue and what is in it; consuming
// goes on, so that it drains. Nil: nothing is bound any more. Errors: ctx's, ErrClosed; the wish holds all the same.
func (c *Consumer) Detach(ctx context.Context) error {
	if !c.own {
		return nil
	}
	c.mu.Lock()
	c.change(federation.Source{Queue: c.queue}, nil)
	c.mu.Unlock()
	c.wakeKeeper()
	return c.await(ctx, func() bool { return len(c.stale) == 0 })
}

// await waits for the keeper to bring about what reached looks at, under mu.
func (c *Consumer) await(ctx context.Context, reached func() bool) error {
	for {
		c.mu.Lock()
		ok, changed := reached(), c.changed.wait()
		c.mu.Unlock()
		if ok {
			return nil
		}
		select { // after changed it is looked at again
		case <-changed:
		case <-c.done:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// State tells what the consumer does or waits for.
func (c *Consumer) State() federation.PartState { return c.box.get() }

// Close cancels; what is unacked goes back to the queue. Next then gives ErrClosed. Errors: ctx's; closing goes on all
// the same.
func (c *Consumer) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if c.broker.disown(c) {
		c.end()
	}
	c.wakeKeeper()
	wakeUp(c.arrived)
	select { // when both are ready either answer is true
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Consumer) wakeKeeper() { wakeUp(c.kick) }

func wakeUp(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// end is the keeper's last act.
func (c *Consumer) end() {
	if c.seat != nil {
		c.seat.leave()
	}
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.box.set(stateClosed, "", "")
	wakeUp(c.arrived)
	close(c.done)
}
