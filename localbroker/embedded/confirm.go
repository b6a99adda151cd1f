package embedded

// confirms is a channel's confirm mode. Acks wait until the reader has no more input, or another answer has to go out
// first, so that a stream of publishes costs few of them; RabbitMQ does the same. A channel exception drops those that wait,
// as it does there: the publisher must take their messages as of unknown outcome. Of the reader.
type confirms struct {
	on        bool
	published uint64 // number of the last message
	pending   int    // messages up to published that are accepted and not yet acked
	listed    bool   // in connection.unconfirmed
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

// flush acks what waits.
//
//	delivery-tag longlong · multiple bit
func (c *confirms) flush(ch *channel) { c.flushUpTo(ch, c.published) }

func (c *confirms) flushUpTo(ch *channel, number uint64) {
	if c.pending == 0 {
		return
	}
	var space [9]byte
	args := appendLonglong(space[:0], number)
	ch.send(basicAck, appendBool(args, c.pending > 1))
	c.pending = 0
}
