package embedded

// refuses reports whether a full queue turns the message away. The limits count what is ready, not what is unsettled,
// and are asked before a waiting consumer could take the message: both as RabbitMQ does.
func (q *queue) refuses(m *message) bool {
	if q.options.overflow == overflowDropHead {
		return false
	}
	return q.over(q.readyCount+1, q.readyBytes+int64(len(m.body)))
}

func (q *queue) over(count int, bytes int64) bool {
	o := &q.options
	return o.maxLength >= 0 && int64(count) > o.maxLength || o.maxBytes >= 0 && bytes > o.maxBytes
}

// dropOverflow drops from the front until the limits hold.
func (q *queue) dropOverflow() {
	for q.options.overflow == overflowDropHead && q.readyCount > 0 && q.over(q.readyCount, q.readyBytes) {
		q.drop(q.pop(), deathMaxLength)
	}
}

// drop ends an entry that no consumer gets; it goes to the dead-letter exchange when there is one.
func (q *queue) drop(e *entry, reason deathReason) {
	q.deadLetter(e.message, reason)
	q.broker.release(e.message)
}
