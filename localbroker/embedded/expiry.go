package embedded

import "time"

// expiryOf is when a message that arrives now expires in this queue: the shorter of the queue's time and its own.
func (q *queue) expiryOf(m *message) time.Time {
	ttl := q.options.ttl
	if ms, present := m.properties.expiration(); present {
		if own := time.Duration(ms) * time.Millisecond; ttl < 0 || own < ttl {
			ttl = own
		}
	}
	if ttl < 0 {
		return time.Time{}
	}
	return time.Now().Add(ttl)
}

// dropExpired drops expired entries from the front alone: as in RabbitMQ, an expired message behind one that is not
// waits until it comes to the front. Then it sets the timer for the front.
func (q *queue) dropExpired() {
	e := q.front()
	if e == nil || e.expires.IsZero() {
		return
	}
	now := time.Now()
	for e != nil && !e.expires.IsZero() && !now.Before(e.expires) {
		q.drop(q.pop(), deathExpired)
		e = q.front()
	}
	if e != nil && !e.expires.IsZero() {
		q.expireAt(e.expires, now)
	}
}

// expireAt sets the timer unless it goes off early enough: one that goes off too early sets itself again.
func (q *queue) expireAt(at, now time.Time) {
	if q.expiry != nil && !q.expiryAt.After(at) {
		return
	}
	if q.expiry != nil {
		q.expiry.Stop()
	}
	q.expiryAt = at
	var timer *time.Timer
	timer = time.AfterFunc(at.Sub(now), func() {
		q.broker.mu.Lock()
		defer q.broker.unlock()
		if q.expiry == timer && !q.deleted {
			q.expiry = nil
			q.dropExpired()
		}
	})
	q.expiry = timer
}

// touch starts the time of x-expires again. It runs while the queue has no consumer; declaring and getting count as
// use.
func (q *queue) touch() {
	if q.options.expires < 0 || q.deleted {
		return
	}
	q.idleFrom = time.Now()
	if q.idle == nil {
		q.idle = time.AfterFunc(q.options.expires, q.deleteIdle)
	}
}

// deleteIdle is what the timer runs; it goes off early when the queue was used since it was set.
func (q *queue) deleteIdle() {
	q.broker.mu.Lock()
	defer q.broker.unlock()
	q.idle = nil
	if q.deleted || len(q.consumers) > 0 {
		return // the last consumer's end touches the queue
	}
	if left := q.options.expires - time.Since(q.idleFrom); left > 0 {
		q.idle = time.AfterFunc(left, q.deleteIdle)
		return
	}
	q.delete()
}

func (q *queue) stopTimers() {
	if q.expiry != nil {
		q.expiry.Stop()
		q.expiry = nil
	}
	if q.idle != nil {
		q.idle.Stop()
		q.idle = nil
	}
}
