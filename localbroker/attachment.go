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

// attachment is one incarnation of a consumer: its channel's sink, and what the channel has brought. Guarded by the consumer's mu.
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
	fewer     bool                      // larger messages came: ask for fewer
	why       error                     // why it is over; nil while it is not
	ended     chan struct{}             // closed when why is set
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
		a.fewer = true
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
	return true
}

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
	tag, err := c.consume(ctx, ch, a, 0)
	if err != nil {
		return errors.Join(err, c.brokersWord(a))
	}
	return c.keep(ctx, ch, a, tag, asserted)
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

// consume asks for as many messages as the prefetch allows at this moment. The n-th consumer of a channel replaces the one before: RabbitMQ
// applies a prefetch only to the consumers that follow it.
func (c *Consumer) consume(ctx context.Context, ch *channel, a *attachment, n int) (tag string, err error) {
	c.mu.Lock()
	count := c.prefetch.count()
	a.fewer = false
	c.mu.Unlock()
	tag = fmt.Sprintf("cloudqueue-%d-%d", a.incarnation, n)
	err = ch.call(ctx, "consume", func(lib *amqp.Channel) error {
		if err := lib.Qos(count, 0, false); err != nil {
			return err
		}
		_, err := lib.Consume(c.queue, tag, false, true, false, false, nil) // its chan stays empty: deliveries go to the sink
		return err
	})
	return tag, err
}

// keep serves wishes until the incarnation ends.
func (c *Consumer) keep(ctx context.Context, ch *channel, a *attachment, tag string, asserted assertion) error {
	consumers := 0
	c.show(asserted)
	tick := time.NewTicker(c.broker.cfg.Reassert)
	defer tick.Stop()
	for {
		due := false
		select { // any order: each round looks at all wishes
		case <-a.ended:
			return c.brokersWord(a)
		case <-ctx.Done():
			return c.release(ctx, ch, a, tag)
		case <-c.kick:
		case <-tick.C:
			due = true
		case <-asserted.again:
			due = true
		}
		if paused, closed := c.wishes(); paused || closed {
			return c.release(ctx, ch, a, tag)
		}
		if c.wantsOtherPrefetch(a, due) {
			consumers++
			next, err := c.renew(ctx, ch, a, tag, consumers)
			if err != nil {
				return errors.Join(err, c.brokersWord(a))
			}
			tag = next
		}
		if due || c.askedSince(asserted) {
			next, err := c.assert(ctx, ch.session)
			if err != nil {
				return err
			}
			asserted = next
			c.show(asserted)
		}
	}
}

func (c *Consumer) askedSince(asserted assertion) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked != asserted.asked
}

func (c *Consumer) wantsOtherPrefetch(a *attachment, period bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return a.fewer || period && c.prefetch.tick()
}

// renew replaces the consumer on the same channel: what is unacked stays unacked, order stays.
func (c *Consumer) renew(ctx context.Context, ch *channel, a *attachment, tag string, n int) (string, error) {
	err := ch.call(ctx, "cancel", func(lib *amqp.Channel) error { return lib.Cancel(tag, false) })
	if err != nil {
		return "", err
	}
	return c.consume(ctx, ch, a, n)
}

// release gives everything back, in order: no more deliveries, then one nack for all of them, then the channel.
func (c *Consumer) release(ctx context.Context, ch *channel, a *attachment, tag string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer cancel()
	err := ch.call(ctx, "cancel", func(lib *amqp.Channel) error { return lib.Cancel(tag, false) })
	a.stop(errOver)
	if err == nil {
		ch.wire.nack()
	}
	return ch.close(ctx)
}
