package embedded

// channel is one AMQP channel. Its connection's reader alone calls its methods; what deliveries touch is guarded by
// Broker.mu.
type channel struct {
	id         uint16
	connection *connection
	broker     *Broker

	// Guarded by Broker.mu.
	ended         bool // closed by an exception and waiting for close-ok, or gone
	consumers     map[string]*consumer
	unsettled     unsettled
	limited       int    // unsettled deliveries to consumers: what prefetch counts
	tag           uint64 // last delivery tag
	prefetch      int    // of the whole channel (basic.qos global), 0: no limit
	replyConsumer *consumer

	// Of the reader.
	consumerPrefetch int        // for consumers that come (basic.qos not global)
	lastQueue        string     // last declared: what an empty queue name means
	content          content    // the message that is arriving
	confirms         confirms   // confirm mode
	tx               tx         // transaction mode
	taken            []delivery // scratch of settling
}

func newChannel(c *connection, id uint16) *channel {
	return &channel{id: id, connection: c, broker: c.broker, consumers: map[string]*consumer{}}
}

func (ch *channel) send(id methodID, args []byte) { ch.connection.out.method(ch.id, id, args) }

func (ch *channel) sendContent(id methodID, args []byte, m *message) {
	ch.connection.out.content(ch.id, id, args, m)
}

// reply answers unless the client asked for no answer.
func (ch *channel) reply(noWait bool, id methodID, args []byte) {
	if !noWait {
		ch.send(id, args)
	}
}

// handle does one method. Broker.mu is held.
func (ch *channel) handle(id methodID, d *decoder) *exception {
	switch id >> 16 {
	case 20:
		return ch.handleChannel(id, d)
	case 40:
		return ch.handleExchange(id, d)
	case 50:
		return ch.handleQueue(id, d)
	case basicClass:
		return ch.handleBasic(id, d)
	case 85, 90:
		return ch.handleMode(id, d)
	}
	if id == accessRequest {
		ch.send(accessRequestOK, appendShort(nil, 1))
		return nil
	}
	return unknownMethod()
}

func unknownMethod() *exception { return fail(replyCommandInvalid, "unimplemented method") }

func (ch *channel) handleChannel(id methodID, d *decoder) *exception {
	switch id {
	case channelOpen:
		return fail(replyChannelError, "second 'channel.open' seen")
	case channelFlow:
		if !d.bits().has(0) {
			return fail(replyNotImplemented, "active=false")
		}
		ch.send(channelFlowOK, []byte{1})
	case channelFlowOK:
	case channelClose:
		ch.end()
		delete(ch.connection.channels, ch.id)
		ch.send(channelCloseOK, nil)
	default:
		return unknownMethod()
	}
	return nil
}

func (ch *channel) handleBasic(id methodID, d *decoder) *exception {
	switch id {
	case basicQos:
		return ch.qos(d)
	case basicConsume:
		return ch.consume(d)
	case basicCancel:
		return ch.cancel(d)
	case basicCancelOK:
		return nil
	case basicPublish:
		return ch.beginPublish(d)
	case basicGet:
		return ch.get(d)
	case basicAck, basicReject, basicNack:
		return ch.settle(id, d)
	case basicRecover, basicRecoverAsync:
		return ch.recover(id, d)
	}
	return unknownMethod()
}

// end takes the channel out of the broker: consumers go, what is unsettled goes back to where it was. Broker.mu is
// held.
func (ch *channel) end() {
	if ch.ended {
		return
	}
	ch.ended = true
	ch.resetContent()
	ch.confirms.pending = 0
	ch.tx.rollback(ch)
	ch.endReplyConsumer()
	queues := make([]*queue, 0, len(ch.consumers))
	for tag, c := range ch.consumers {
		delete(ch.consumers, tag)
		c.queue.unsubscribe(c)
		queues = append(queues, c.queue)
	}
	ch.requeueAll()
	for _, q := range queues {
		q.deliverAll() // of a single-active-consumer queue another consumer is active
	}
}
