package embedded

import "time"

// queue holds messages in order and hands them to its consumers. Guarded by Broker.mu.
//
//	enqueue -> ready (rings by priority) -> deliver -> unsettled of a channel -> settled: gone
//	                 ^                                        |
//	                 +------------- requeue ------------------+      expired, rejected, over the length: dead-letter
type queue struct {
	broker     *Broker
	name       string
	durable    bool
	autoDelete bool
	owner      *connection // of an exclusive queue, else nil
	args       table
	options    queueOptions

	ready      []ring // index is the priority; one ring without x-max-priority
	readyCount int
	readyBytes int64 // bodies alone, as x-max-length-bytes counts
	unsettled  int   // delivered, not settled
	position   uint64

	consumers   []*consumer // highest priority first; within one priority, whose turn is next first
	hadConsumer bool
	sources     map[*exchange]int // bindings from each exchange to this queue

	expiry   *time.Timer // of the entry at the front, nil when none is set
	expiryAt time.Time
	idle     *time.Timer // of x-expires
	idleFrom time.Time

	visited uint64 // routing that came past last, see Broker.route
	deleted bool
}

func newQueue(b *Broker, name string, options queueOptions) *queue {
	return &queue{
		broker: b, name: name, options: options, sources: map[*exchange]int{},
		ready: make([]ring, int(options.maxPriority)+1),
	}
}

// enqueue takes a message. It is false when the queue refuses it (x-overflow).
func (q *queue) enqueue(m *message) bool {
	if q.refuses(m) {
		if q.options.overflow == overflowRejectDeadLetter {
			q.deadLetter(m, deathMaxLength)
		}
		return false
	}
	q.position++
	e := &entry{message: m, position: q.position}
	q.broker.hold(m)
	if q.readyCount == 0 && q.deliverNow(e) {
		return true
	}
	e.expires = q.expiryOf(m)
	q.push(e)
	q.dropOverflow()
	q.dropExpired()
	return true
}

// requeue takes back entries that were delivered.
func (q *queue) requeue(e *entry) {
	q.unsettled--
	if q.deleted {
		q.broker.release(e.message)
		return
	}
	e.redelivered = true
	q.push(e)
}

// settle ends an entry that was delivered.
func (q *queue) settle(e *entry) {
	q.unsettled--
	q.broker.release(e.message)
}

func (q *queue) push(e *entry) {
	q.lane(e.message).insert(e)
	q.readyCount++
	q.readyBytes += int64(len(e.body))
}

func (q *queue) lane(m *message) *ring {
	return &q.ready[min(int(m.priority()), len(q.ready)-1)]
}

// front is the next entry to deliver, nil when none is ready.
func (q *queue) front() *entry {
	for i := len(q.ready) - 1; i >= 0; i-- {
		if e := q.ready[i].front(); e != nil {
			return e
		}
	}
	return nil
}

func (q *queue) pop() *entry {
	for i := len(q.ready) - 1; i >= 0; i-- {
		if q.ready[i].count > 0 {
			return q.popped(q.ready[i].popFront())
		}
	}
	return nil
}

func (q *queue) popped(e *entry) *entry {
	q.readyCount--
	q.readyBytes -= int64(len(e.body))
	return e
}

// each calls visit for the ready entries in the order of delivery until it returns false.
func (q *queue) each(visit func(r *ring, i int) bool) {
	for p := len(q.ready) - 1; p >= 0; p-- {
		for i := 0; i < q.ready[p].count; i++ {
			if !visit(&q.ready[p], i) {
				return
			}
		}
	}
}

// purge drops what is ready and returns how much that was.
func (q *queue) purge() int {
	n := q.readyCount
	for q.readyCount > 0 {
		q.broker.release(q.pop().message)
	}
	return n
}

// delete ends the queue: its messages, bindings and consumers. It returns the number of messages that were ready.
func (q *queue) delete() int {
	q.deleted = true
	delete(q.broker.queues, q.name)
	q.stopTimers()
	n := q.purge()
	for _, c := range q.consumers {
		c.cancelled()
	}
	q.consumers = nil
	for x := range q.sources {
		q.broker.unbind(x, func(bd *binding) bool { return bd.queue == q })
	}
	return n
}

// boundTo and unboundFrom count bindings; a binding between exchanges has no queue.
func (q *queue) boundTo(x *exchange) {
	if q != nil {
		q.sources[x]++
	}
}

func (q *queue) unboundFrom(x *exchange) {
	if q == nil {
		return
	}
	if q.sources[x]--; q.sources[x] == 0 {
		delete(q.sources, x)
	}
}
