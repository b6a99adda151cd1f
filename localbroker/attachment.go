package localbroker

import (
	"errors"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// attachment is one incarnation of a consumer: its channel's sink, and what the channel has brought. Guarded by the
// consumer's mu, but for tag and consumers, which are the keeper's.
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
	tooLarge  oversizeError             // what came behind the last one delivered and cannot be taken; 0: nothing did
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
	if in.tag != a.delivered+1 {
		a.finish(fmt.Errorf("the broker numbered a delivery %d after %d", in.tag, a.delivered))
		return false
	}
	if in.size > int64(len(in.body)) {
		a.tooLarge = oversizeError(in.size)
		a.finishBeforeTooLarge()
		if a.why == nil {
			c.wakeKeeper() // to cancel
		}
		return false
	}
	d := federation.Delivery{
		Tag: federation.Tag{Incarnation: a.incarnation, Number: in.tag},
		Message: federation.Message{
			Exchange: in.exchange, RoutingKey: in.key, Properties: in.properties, Body: in.body},
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
	a.finishBeforeTooLarge()
	if a.resting && a.fits() {
		a.consumer.wakeKeeper()
	}
	return true
}

// finishBeforeTooLarge ends the incarnation once all that came before the one that is too large is acked: it would come
// again behind them.
func (a *attachment) finishBeforeTooLarge() {
	if a.tooLarge != 0 && a.settled == a.delivered {
		a.finish(a.tooLarge)
	}
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

// nextTag names the next consumer on the broker.
func (a *attachment) nextTag() string {
	a.consumers++
	return fmt.Sprintf("cloudqueue-%d-%d", a.incarnation, a.consumers)
}
