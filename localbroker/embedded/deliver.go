package embedded

// deliverAll hands ready entries to consumers until either runs out.
func (q *queue) deliverAll() {
	if q.deleted || len(q.consumers) == 0 {
		return
	}
	for q.readyCount > 0 {
		c := q.nextConsumer()
		if c == nil {
			return
		}
		q.dropExpired()
		if e := q.pop(); e != nil {
			c.deliver(e)
		}
	}
	q.dropExpired()
}

// deliverNow gives an entry that has just come to a waiting consumer, if there is one. Such an entry is never expired,
// even with a time to live of 0.
func (q *queue) deliverNow(e *entry) bool {
	c := q.nextConsumer()
	if c != nil {
		c.deliver(e)
	}
	return c != nil
}

// nextConsumer returns whose turn it is among those with room: the highest priority first, and in turn within one
// priority. Of a single-active-consumer queue that is the first one or nobody.
func (q *queue) nextConsumer() *consumer {
	for i, c := range q.consumers {
		if c.ready() {
			q.rotate(i)
			return c
		}
		if q.options.singleConsumer {
			return nil
		}
	}
	return nil
}

// rotate puts the consumer at i behind the others of its priority.
func (q *queue) rotate(i int) {
	if q.options.singleConsumer {
		return
	}
	c := q.consumers[i]
	for ; i+1 < len(q.consumers) && q.consumers[i+1].priority == c.priority; i++ {
		q.consumers[i] = q.consumers[i+1]
	}
	q.consumers[i] = c
}
