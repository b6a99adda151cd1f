package embedded

// consumer is a subscription of one channel to one queue. Guarded by Broker.mu.
type consumer struct {
	tag       string
	queue     *queue // nil for direct reply-to
	channel   *channel
	noAck     bool
	exclusive bool
	priority  int64 // x-priority
	prefetch  int   // 0: no limit; fixed when it starts to consume
	unsettled int
	replyKey  string // of direct reply-to: the routing key that reaches it
}

// ready reports whether the consumer may get one more message.
func (c *consumer) ready() bool {
	ch := c.channel
	if ch.ended || ch.connection.closing || ch.connection.out.full() {
		return false
	}
	if ch.prefetch > 0 && ch.limited >= ch.prefetch {
		return false
	}
	return c.noAck || c.prefetch == 0 || c.unsettled < c.prefetch
}

// deliver sends the entry, which has left its queue, to the client.
func (c *consumer) deliver(e *entry) {
	ch := c.channel
	ch.tag++
	if c.noAck {
		c.queue.broker.release(e.message)
	} else {
		ch.unsettled.add(delivery{tag: ch.tag, entry: e, queue: c.queue, consumer: c})
		ch.limited++
		c.unsettled++
		c.queue.unsettled++
	}
	c.queue.broker.counters.Delivered++
	c.send(ch.tag, e.redelivered, e.message)
}

// send writes basic.deliver.
//
//	consumer-tag shortstr · delivery-tag longlong · redelivered bit · exchange shortstr · routing-key shortstr
func (c *consumer) send(tag uint64, redelivered bool, m *message) {
	var space [128]byte
	args := appendShortString(space[:0], c.tag)
	args = appendLonglong(args, tag)
	args = appendBool(args, redelivered)
	args = appendShortString(args, m.exchange)
	args = appendShortString(args, m.key())
	c.channel.sendContent(basicDeliver, args, m)
}

// cancelled takes the consumer from its channel because its queue is gone, and says so to a client that wants to know.
func (c *consumer) cancelled() {
	ch := c.channel
	delete(ch.consumers, c.tag)
	if ch.connection.client.cancelNotify && !ch.ended && !ch.connection.closing {
		ch.send(basicCancel, appendBool(appendShortString(nil, c.tag), true))
	}
}

// subscribe adds a consumer behind those of its priority and above.
func (q *queue) subscribe(c *consumer) {
	at := len(q.consumers)
	for at > 0 && q.consumers[at-1].priority < c.priority {
		at--
	}
	if q.options.singleConsumer && at == 0 && len(q.consumers) > 0 {
		at = 1 // the active one stays until it ends
	}
	q.consumers = append(q.consumers, nil)
	copy(q.consumers[at+1:], q.consumers[at:])
	q.consumers[at] = c
	q.hadConsumer = true
}

// unsubscribe takes a consumer off and deletes an auto-delete queue with its last one.
func (q *queue) unsubscribe(c *consumer) {
	q.consumers = removed(q.consumers, c)
	if len(q.consumers) > 0 || q.deleted {
		return
	}
	if q.autoDelete && q.hadConsumer {
		q.delete()
		return
	}
	q.touch()
}

// exclusivelyUsed reports whether a consumer has the queue for itself.
func (q *queue) exclusivelyUsed() bool {
	return len(q.consumers) > 0 && q.consumers[0].exclusive
}
