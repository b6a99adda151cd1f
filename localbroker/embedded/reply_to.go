package embedded

import "strings"

// directReplyTo is the pseudo-queue of RabbitMQ's direct reply-to: a client that consumes from it gets the replies to
// what it publishes with this text as reply-to. The broker puts a key that leads to the consumer in its place;
// publishing to the default exchange with that key reaches the client without any queue.
const directReplyTo = "amq.rabbitmq.reply-to"

func (ch *channel) consumeReplies(c *consumer, noWait bool) *exception {
	if !c.noAck {
		return fail(replyPreconditionFailed, "reply consumer cannot acknowledge")
	}
	if ch.replyConsumer != nil {
		return fail(replyPreconditionFailed, "reply consumer already set")
	}
	c.replyKey = ch.broker.generated(directReplyTo + ".")
	ch.replyConsumer = c
	ch.broker.replies[c.replyKey] = c
	ch.reply(noWait, basicConsumeOK, appendShortString(nil, c.tag))
	return nil
}

func (ch *channel) endReplyConsumer() {
	if ch.replyConsumer != nil {
		delete(ch.broker.replies, ch.replyConsumer.replyKey)
		ch.replyConsumer = nil
	}
}

// replyAddress puts the channel's reply key in the place of the pseudo-queue's name.
func (ch *channel) replyAddress(m *message) *exception {
	if m.properties.text(propReplyTo) != directReplyTo {
		return nil
	}
	if ch.replyConsumer == nil {
		return fail(replyPreconditionFailed, "fast reply consumer does not exist")
	}
	m.properties = m.properties.replace(propReplyTo, appendShortString(nil, ch.replyConsumer.replyKey))
	return nil
}

// deliverReply sends a reply at once. A client that does not read loses it: there is nowhere to keep it. Its delivery
// tag is used again, as in RabbitMQ.
func (c *consumer) deliverReply(m *message) {
	if c.channel.ended || c.channel.connection.out.full() {
		return
	}
	c.send(c.channel.tag+1, false, m)
}

// declareReplies answers queue.declare of a reply key: it exists while its consumer does.
func (ch *channel) declareReplies(name string, noWait bool) *exception {
	if name != directReplyTo && ch.broker.replies[name] == nil {
		return ch.broker.noQueue(name)
	}
	ch.declared(name, 0, 1, noWait)
	return nil
}

func isReplyName(name string) bool { return strings.HasPrefix(name, directReplyTo) }
