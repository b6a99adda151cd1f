package localbroker

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// wishes gives what callers asked for.
func (c *Consumer) wishes() (paused, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused, c.closed
}

// lockRetry bounds the time between two attempts on a queue that somebody else has. Chosen: after a lost connection
// that is our own earlier consumer, until the broker misses its heartbeats, and every second more is lag.
const lockRetry = 2 * time.Second

// oversizeRetry bounds the time between two looks at a message that is too large. Chosen: each costs the broker the
// sending of all of it, and a person who takes it out waits as long.
const oversizeRetry = time.Minute

// checkRetry is the time until a check that found all channels in use tries again. Chosen: checks are over in
// milliseconds, and a lane whose keys were changed waits for one.
const checkRetry = time.Second

// pauseAfter is how long to wait before the next attempt. A lane without a seat costs the others nothing, so it alone
// tries less often; where a limit cuts the connection, those that ran are back as soon as they may.
func (c *Consumer) pauseAfter(err error, retry *backoff) time.Duration {
	if noChannel(err) {
		return limitRetry
	}
	return retry.next()
}

// run is the keeper.
func (c *Consumer) run(ctx context.Context) {
	defer c.end()
	retry := backoff{least: c.broker.cfg.RetryMin, most: c.broker.cfg.RetryMax}
	oversize := backoff{least: oversizeRetry / 64, most: oversizeRetry}
	for ctx.Err() == nil {
		paused, closed := c.wishes()
		if closed {
			return
		}
		if paused {
			c.box.set(statePaused, "", "")
			wait(ctx, time.Hour, c.kick)
			continue
		}
		started := time.Now()
		err := c.serve(ctx)
		if err == nil || errors.Is(err, errWoken) {
			continue
		}
		if time.Since(started) > steady {
			retry.reset()
		}
		c.explain(err)
		if c.stuck = isOversize(err); c.stuck {
			wait(ctx, oversize.next(), c.kick)
			continue
		}
		oversize.reset()
		pause := c.pauseAfter(err, &retry)
		if exclusive(err) {
			pause = min(pause, lockRetry)
		}
		wait(ctx, pause, c.kick)
	}
}

// serve is one incarnation, from its first request to its end. Nil or errWoken: look again at what is asked for.
func (c *Consumer) serve(ctx context.Context) error {
	if c.broker.consuming.status().State != stateRunning {
		c.box.set(stateWaiting, "no connection to the broker", "")
	}
	s, err := c.broker.consuming.wait(ctx, c.kick)
	if err != nil {
		return err
	}
	asserted, err := c.assert(ctx, s, false)
	if err != nil {
		return s.word(err)
	}
	if err := c.sit(s); err != nil {
		return err
	}
	a := c.attach()
	defer c.detach(a)
	ch, err := s.openSeated(ctx, a, false)
	if err != nil {
		return s.word(err)
	}
	defer ch.leave()
	a.wire = ch.wire
	if err := c.consume(ctx, ch, a); err != nil {
		return errors.Join(err, c.brokersWord(a))
	}
	return c.keep(ctx, ch, a, asserted)
}

// sit takes a seat, which stays the lane's until the session's end or its own: an incarnation that ends makes no room.
func (c *Consumer) sit(s *session) error {
	if c.seat == s.seats {
		return nil
	}
	if err := s.seats.take(); err != nil {
		return err
	}
	c.seat = s.seats
	return nil
}

// brokersWord gives the broker's reason for the end of an incarnation, which says more than the library's error.
func (c *Consumer) brokersWord(a *attachment) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.why
}

// attach begins an incarnation; detach ends it.
func (c *Consumer) attach() *attachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.incarnation++
	c.serving = true
	c.current = &attachment{consumer: c, incarnation: c.incarnation, ended: make(chan struct{})}
	return c.current
}

func (c *Consumer) detach(a *attachment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a.finish(errOver)
	c.serving = false
	c.changed.fire()
}

// consume asks for as many messages as the prefetch allows at this moment.
func (c *Consumer) consume(ctx context.Context, ch *channel, a *attachment) error {
	c.mu.Lock()
	count := c.prefetch.count()
	a.renew, a.resting = false, false
	c.mu.Unlock()
	a.tag = a.nextTag()
	return ch.call(ctx, "consume", func(lib *amqp.Channel) error {
		if err := lib.Qos(count, 0, false); err != nil {
			return err
		}
		// its chan stays empty: deliveries go to the sink
		_, err := lib.Consume(c.queue, a.tag, false, true, false, false, nil)
		return err
	})
}

// keep serves wishes until the incarnation ends.
func (c *Consumer) keep(ctx context.Context, ch *channel, a *attachment, asserted assertion) error {
	if !c.stuck || c.box.get().State != stateHeld { // what is too large may come again at once
		c.show(asserted)
	}
	tick := time.NewTicker(c.broker.cfg.Reassert)
	defer tick.Stop()
	for {
		due := false
		select { // any order: each round looks at all wishes
		case <-a.ended:
			return c.brokersWord(a)
		case <-ctx.Done():
			return c.release(ctx, ch, a)
		case <-c.kick:
		case <-tick.C:
			due = true
		case <-asserted.again:
			due = true
		}
		if paused, closed := c.wishes(); paused || closed {
			return c.release(ctx, ch, a)
		}
		if err := c.adjust(ctx, ch, a); err != nil {
			return errors.Join(err, c.brokersWord(a))
		}
		if !due && !c.askedSince(asserted) {
			continue
		}
		next, err := c.assert(ctx, ch.session, true)
		if noChannel(err) { // a check is no reason to end what runs
			asserted.again = time.After(min(checkRetry, c.broker.cfg.Reassert))
			continue
		}
		if err != nil {
			return err
		}
		asserted = next
		c.stuck = false
		c.show(asserted)
	}
}

func (c *Consumer) askedSince(asserted assertion) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != asserted.asked
}

// adjust replaces the consumer on the same channel when another number of messages is to be asked for: RabbitMQ applies
// a prefetch only to the consumers that follow it. What is unacked stays unacked, order stays; the next consumer waits
// until what is held fits the budget.
func (c *Consumer) adjust(ctx context.Context, ch *channel, a *attachment) error {
	c.mu.Lock()
	last := a.tooLarge != 0 // nothing is to come behind it
	stop := a.tag != "" && (a.renew || last)
	c.mu.Unlock()
	if stop {
		if err := cancel(ctx, ch, a); err != nil {
			return err
		}
	}
	c.mu.Lock()
	fits := a.fits() && !last
	a.resting = a.tag == "" && !fits
	c.mu.Unlock()
	if a.tag != "" || !fits {
		return nil
	}
	return c.consume(ctx, ch, a)
}

func cancel(ctx context.Context, ch *channel, a *attachment) error {
	tag := a.tag
	a.tag = ""
	return ch.call(ctx, "cancel", func(lib *amqp.Channel) error { return lib.Cancel(tag, false) })
}

// release gives everything back, in order: no more deliveries, then one nack for all of them, then the channel.
func (c *Consumer) release(ctx context.Context, ch *channel, a *attachment) (err error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer stop()
	if a.tag != "" {
		err = cancel(ctx, ch, a)
	}
	a.stop(errOver)
	if err == nil {
		ch.wire.nack()
	}
	return ch.close(ctx)
}
