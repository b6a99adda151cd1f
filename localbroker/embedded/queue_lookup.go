package embedded

import "fmt"

// usableQueue finds the queue that a method names and checks that this connection may use it.
func (ch *channel) usableQueue(name string) (*queue, *exception) {
	name, refused := ch.expandName(name)
	if refused != nil {
		return nil, refused
	}
	q := ch.broker.queues[name]
	if q == nil {
		return nil, ch.broker.noQueue(name)
	}
	return q, ch.mayUse(q)
}

// expandName puts the queue declared last on the channel in the place of an empty name.
func (ch *channel) expandName(name string) (string, *exception) {
	if name != "" {
		return name, nil
	}
	if ch.lastQueue == "" {
		return "", fail(replyNotFound, "no previously declared queue")
	}
	return ch.lastQueue, nil
}

// mayUse refuses another connection's exclusive queue.
func (ch *channel) mayUse(q *queue) *exception {
	if q.owner != nil && q.owner != ch.connection {
		return ch.locked(q)
	}
	return nil
}

func (ch *channel) locked(q *queue) *exception {
	return fail(replyResourceLocked, "cannot obtain exclusive access to locked %s. It could be originally declared on another "+
		"connection or the exclusive property value does not match that of the original declaration.",
		ch.broker.named(q))
}

func (b *Broker) named(q *queue) string {
	return fmt.Sprintf("queue '%s' in vhost '%s'", q.name, b.vhost)
}

func (b *Broker) noQueue(name string) *exception {
	return fail(replyNotFound, "no queue '%s' in vhost '%s'", name, b.vhost)
}

func (b *Broker) noExchange(name string) *exception {
	return fail(replyNotFound, "no exchange '%s' in vhost '%s'", name, b.vhost)
}
