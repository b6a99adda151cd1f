package embedded

// consume starts a consumer.
//
//	reserved short · queue shortstr · consumer-tag shortstr · bits no-local, no-ack, exclusive, no-wait · arguments table
func (ch *channel) consume(d *decoder) *exception {
	d.short()
	name, tag, flags := d.shortString(), d.shortString(), d.bits()
	args := d.table()
	if _, taken := ch.consumers[tag]; taken || ch.replyConsumer != nil && ch.replyConsumer.tag == tag {
		return fail(replyNotAllowed, "attempt to reuse consumer tag '%s'", tag)
	}
	if len(ch.consumers) >= ch.broker.limits.Consumers {
		return fail(replyPreconditionFailed, "consumer limit of %d per channel is reached", ch.broker.limits.Consumers)
	}
	if tag == "" {
		tag = ch.broker.generated("amq.ctag-")
	}
	c := &consumer{tag: tag, channel: ch, noAck: flags.has(1), exclusive: flags.has(2), prefetch: ch.consumerPrefetch}
	if name == directReplyTo {
		return ch.consumeReplies(c, flags.has(3))
	}
	return ch.startConsumer(c, name, args, flags.has(3))
}

func (ch *channel) startConsumer(c *consumer, name string, args table, noWait bool) *exception {
	q, refused := ch.usableQueue(name)
	if refused != nil {
		return refused
	}
	if refused := c.takeArguments(q, args); refused != nil {
		return refused
	}
	if q.exclusivelyUsed() || c.exclusive && (len(q.consumers) > 0 || q.options.singleConsumer) {
		return fail(replyAccessRefused, "%s in exclusive use", ch.broker.named(q))
	}
	c.queue = q
	ch.consumers[c.tag] = c
	ch.reply(noWait, basicConsumeOK, appendShortString(nil, c.tag))
	q.subscribe(c)
	q.deliverAll()
	return nil
}

func (c *consumer) takeArguments(q *queue, args table) *exception {
	if v := args.get("x-priority"); v != nil {
		priority, ok := v.integer()
		if !ok {
			return fail(replyPreconditionFailed, "invalid arg 'x-priority' for %s: \"expected integer, got %s\"",
				q.broker.named(q), v.typeName())
		}
		c.priority = priority
	}
	return refuseArguments(args, []string{"x-stream-offset"}, q.name, q.broker.vhost)
}

// cancel ends a consumer; what it has not settled stays with the channel. An unknown tag is answered like a known one.
//
//	consumer-tag shortstr · no-wait bit
func (ch *channel) cancel(d *decoder) *exception {
	tag, noWait := d.shortString(), d.bits().has(0)
	if c := ch.consumers[tag]; c != nil {
		delete(ch.consumers, tag)
		c.queue.unsubscribe(c)
		defer c.queue.deliverAll()
	} else if ch.replyConsumer != nil && ch.replyConsumer.tag == tag {
		ch.endReplyConsumer()
	}
	ch.reply(noWait, basicCancelOK, appendShortString(nil, tag))
	return nil
}
