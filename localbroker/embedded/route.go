package embedded

// routing is one message on its way from an exchange to queues. Broker.mu is held throughout.
type routing struct {
	broker  *Broker
	message *message
	keys    []string // routing key, then CC and BCC
	stamp   uint64   // marks exchanges and queues that this routing has been at
	queues  []*queue // what it has found, each once

	split        [][]string // keys as topic words, made when a topic exchange asks
	parsed       table      // headers, made when a headers exchange asks
	headersKnown bool
}

// route returns the queues of a message, each once. The result is valid until the next call.
func (b *Broker) route(x *exchange, m *message, keys []string) []*queue {
	b.routings++
	r := &b.routing
	*r = routing{broker: b, message: m, keys: keys, stamp: b.routings, queues: r.queues[:0]}
	r.through(x)
	return r.queues
}

// through follows the bindings of one exchange, then its alternate exchange if none matched.
func (r *routing) through(x *exchange) {
	if x.visited == r.stamp {
		return
	}
	x.visited = r.stamp
	if x.name == "" {
		r.byName()
		return
	}
	matched := false
	x.eachMatch(r, func(bd *binding) {
		matched = true
		r.follow(bd)
	})
	if alternate := r.broker.exchanges[x.alternate]; !matched && x.alternate != "" && alternate != nil {
		r.through(alternate)
	}
}

// byName is the default exchange: every queue is bound to it under its own name.
func (r *routing) byName() {
	for _, key := range r.keys {
		if q := r.broker.queues[key]; q != nil {
			r.reach(q)
		}
	}
}

func (r *routing) follow(bd *binding) {
	if bd.exchange != nil {
		r.through(bd.exchange)
		return
	}
	r.reach(bd.queue)
}

func (r *routing) reach(q *queue) {
	if q.visited != r.stamp {
		q.visited = r.stamp
		r.queues = append(r.queues, q)
	}
}

func (r *routing) words() [][]string {
	if r.split == nil {
		for _, key := range r.keys {
			r.split = append(r.split, topicWords(key))
		}
	}
	return r.split
}

func (r *routing) headers() table {
	if !r.headersKnown {
		r.parsed, r.headersKnown = r.message.properties.headers(), true
	}
	return r.parsed
}
