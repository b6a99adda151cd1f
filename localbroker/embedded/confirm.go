package embedded

// confirms is a channel's confirm mode. Acks wait until the reader has no more input, or another answer has to go out
// first, so that a stream of publishes costs few of them; RabbitMQ does the same. A channel exception drops those that
// wait, as it does there: the publisher must take their messages as of unknown outcome. Of the reader.
type confirms struct {
	on        bool
	published uint64 // number of the last message
	pending   int    // messages up to published that are accepted and not yet acked
	listed    bool   // in connection.unconfirmed
	singly    bool   // some message never gets its ack, so an ack for several would take it along
}

// maxPendingConfirms bounds how long a fast publisher waits for the first ack of a run.
const maxPendingConfirms = 64

// next numbers a message, from 1. It is 0 outside confirm mode.
func (c *confirms) next() uint64 {
	if !c.on {
		return 0
	}
	c.published++
	return c.published
}

func (c *confirms) settle(ch *channel, number uint64, accepted bool) {
	if !c.on {
		return
	}
	if !accepted {
		c.flushUpTo(ch, number-1)
		ch.send(basicNack, appendBool(appendLonglong(nil, number), false))
		return
	}
	if c.pending++; c.pending >= maxPendingConfirms {
		c.flush(ch)
	}
}

// skip leaves the last message without an answer.
func (c *confirms) skip(ch *channel) {
	if c.on {
		c.flushUpTo(ch, c.published-1)
		c.singly = true
	}
}

// flush acks what waits.
func (c *confirms) flush(ch *channel) { c.flushUpTo(ch, c.published) }

func (c *confirms) flushUpTo(ch *channel, number uint64) {
	waiting := uint64(c.pending)
	c.pending = 0
	switch {
	case waiting == 0:
	case c.singly:
		for n := number - waiting + 1; n <= number; n++ {
			c.ack(ch, n, false)
		}
	default:
		c.ack(ch, number, waiting > 1)
	}
}

// ack says that a message, or with multiple all up to it, is safe.
//
//	delivery-tag longlong · multiple bit
func (c *confirms) ack(ch *channel, number uint64, multiple bool) {
	var space [9]byte
	ch.send(basicAck, appendBool(appendLonglong(space[:0], number), multiple))
}
