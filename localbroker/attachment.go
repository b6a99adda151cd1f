package localbroker

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// attachment is one incarnation of a consumer: its channel's sink, and what the channel has brought. Guarded by the consumer's mu, but for tag and
// consumers, which are the keeper's.
type attachment struct {
	consumer    *Consumer
	incarnation uint64
	wire        *wireChannel

	ready     fifo[federation.Delivery] // for Next
	sizes     fifo[int64]               // of what is unacked, from tag settled+1 on
	held      int64                     // sum of sizes
	delivered uint64                    // last tag that arrived
	handed    uint64                    // last tag that Next gave
	settled   uint64                    // last tag that was acked
	renew     bool                      // another number of messages is to be asked for
	resting   bool                      // nothing is asked for until what is held fits the budget
	why       error                     // why it is over; nil while it is not
	ended     chan struct{}             // closed when why is set

	tag       string // of the consumer on the broker; empty while there is none
	consumers int    // that there have been
}

var (
	errCancelled = errors.New("the queue was deleted, or moved to another node")
	errOverrun   = errors.New("larger messages came than were seen before: fewer are asked for")
)

const messageOverhead = 256 // bytes that a delivery takes beyond its own, roughly: two slice headers, a ring's slot

func (a *attachment) deliver(in *content) (more bool) {
	c := a.consumer
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.why != nil {
		return false
	}
	if in.size > int64(len(in.body)) {
		a.finish(oversizeError(in.size))
		return false
	}
	if in.tag != a.delivered+1 {
		a.finish(fmt.Errorf("the broker numbered a delivery %d after %d", in.tag, a.delivered))
		return false
	}
	d := federation.Delivery{
		Tag:         federation.Tag{Incarnation: a.incarnation, Number: in.tag},
		Message:     federation.Message{Exchange: in.exchange, RoutingKey: in.key, Properties: in.properties, Body: in.body},
		Redelivered: in.redelivered || amqpwire.Redelivered(in.properties),
	}
	return a.keep(d)
}

// keep queues d for Next.
func (a *attachment) keep(d federation.Delivery) (more bool) {
	c := a.consumer
	size := int64(d.Message.Size() + messageOverhead)
	a.delivered = d.Tag.Number
	a.held += size
	a.sizes.push(size)
	a.ready.push(d)
	wakeUp(c.arrived)
	if c.prefetch.seen(size) {
		a.renew = true
		c.wakeKeeper()
	}
	if c.prefetch.over(a.held, a.sizes.len()) {
		a.finish(errOverrun)
		return false
	}
	return true
}

// settle counts acked deliveries out, and tells whether there were any.
func (a *attachment) settle(upTo uint64) bool {
	if upTo <= a.settled {
		return false
	}
	for ; a.settled < upTo; a.settled++ {
		a.held -= a.sizes.pop()
	}
	if a.resting && a.fits() {
		a.consumer.wakeKeeper()
	}
	return true
}

// fits tells whether what is held leaves room for all that would be asked for.
func (a *attachment) fits() bool { return a.held <= a.consumer.prefetch.budget }

// finish ends the incarnation: nothing of it is given or acked any more. The caller holds mu.
func (a *attachment) finish(why error) {
	if a.why != nil {
		return
	}
	a.why = why
	a.ready = fifo[federation.Delivery]{}
	if a.consumer.current == a {
		a.consumer.current = nil
	}
	close(a.ended)
}

func (a *attachment) stop(why error) {
	a.consumer.mu.Lock()
	defer a.consumer.mu.Unlock()
	a.finish(why)
}

func (a *attachment) returned(*content) error { return nil }

func (a *attachment) confirmed(uint64, bool, bool) error { return nil }

func (a *attachment) cancelled() { a.stop(errCancelled) }

func (a *attachment) over(why closing) {
	if why.hard || why.code == 0 {
		a.stop(errOver)
		return
	}
	a.stop(&amqp.Error{Code: int(why.code), Reason: why.text, Server: true})
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
	asserted, err := c.assert(ctx, s)
	if err != nil {
		return err
	}
	a := c.attach()
	defer c.detach(a)
	ch, err := s.open(ctx, a)
	if err != nil {
		return err
	}
	defer ch.leave()
	a.wire = ch.wire
	if err := c.consume(ctx, ch, a); err != nil {
		return errors.Join(err, c.brokersWord(a))
	}
	return c.keep(ctx, ch, a, asserted)
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

// nextTag names the next consumer on the broker.
func (a *attachment) nextTag() string {
	a.consumers++
	return fmt.Sprintf("cloudqueue-%d-%d", a.incarnation, a.consumers)
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
		_, err := lib.Consume(c.queue, a.tag, false, true, false, false, nil) // its chan stays empty: deliveries go to the sink
		return err
	})
}

// keep serves wishes until the incarnation ends.
func (c *Consumer) keep(ctx context.Context, ch *channel, a *attachment, asserted assertion) error {
	c.show(asserted)
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
		next, err := c.assert(ctx, ch.session)
		if err != nil {
			return err
		}
		asserted = next
		c.show(asserted)
	}
}

func (c *Consumer) askedSince(asserted assertion) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != asserted.asked
}

// adjust replaces the consumer on the same channel when another number of messages is to be asked for: RabbitMQ applies a prefetch only to the
// consumers that follow it. What is unacked stays unacked, order stays; the next consumer waits until what is held fits the budget.
func (c *Consumer) adjust(ctx context.Context, ch *channel, a *attachment) error {
	c.mu.Lock()
	renew := a.renew && a.tag != ""
	c.mu.Unlock()
	if renew {
		if err := cancel(ctx, ch, a); err != nil {
			return err
		}
	}
	c.mu.Lock()
	fits := a.fits()
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
