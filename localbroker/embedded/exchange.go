package embedded

// exchangeKind is one of the four types of the specification.
type exchangeKind string

const (
	kindDirect  exchangeKind = "direct"
	kindFanout  exchangeKind = "fanout"
	kindTopic   exchangeKind = "topic"
	kindHeaders exchangeKind = "headers"
)

// exchange takes messages and names the bindings that match. Guarded by Broker.mu.
type exchange struct {
	name       string
	kind       exchangeKind
	durable    bool
	autoDelete bool
	internal   bool
	args       table
	alternate  string // "" without one

	bindings []*binding            // from here to others, in order of making
	byKey    map[string][]*binding // the same by key
	visited  uint64                // routing that came past last, see Broker.route
}

// binding leads from a source exchange to a queue or to another exchange: exactly one of the two is set.
type binding struct {
	queue    *queue
	exchange *exchange
	key      string
	args     table

	pattern []string    // of a topic exchange's binding
	rule    headersRule // of a headers exchange's binding
}

// same reports whether two bindings of one source are one.
func (bd *binding) same(other *binding) bool {
	return bd.queue == other.queue && bd.exchange == other.exchange && bd.key == other.key && bd.args.equal(other.args)
}

// find returns the binding that is the same as bd, or nil.
func (x *exchange) find(bd *binding) *binding {
	for _, b := range x.byKey[bd.key] {
		if b.same(bd) {
			return b
		}
	}
	return nil
}

// add takes a binding and makes it ready to match.
func (x *exchange) add(bd *binding) {
	switch x.kind {
	case kindTopic:
		bd.pattern = topicWords(bd.key)
	case kindHeaders:
		bd.rule = newHeadersRule(bd.args)
	}
	x.bindings = append(x.bindings, bd)
	if x.byKey == nil {
		x.byKey = map[string][]*binding{}
	}
	x.byKey[bd.key] = append(x.byKey[bd.key], bd)
	bd.queue.boundTo(x)
}

// drop removes the bindings that leaves names and returns how many those were.
func (x *exchange) drop(leaves func(*binding) bool) int {
	kept := make([]*binding, 0, len(x.bindings))
	byKey := map[string][]*binding{}
	for _, bd := range x.bindings {
		if leaves(bd) {
			bd.queue.unboundFrom(x)
			continue
		}
		kept = append(kept, bd)
		byKey[bd.key] = append(byKey[bd.key], bd)
	}
	dropped := len(x.bindings) - len(kept)
	x.bindings, x.byKey = kept, byKey
	return dropped
}

// removed returns list without its one item; the order stays, and so does the list that others may be walking.
func removed[T comparable](list []T, item T) []T {
	rest := make([]T, 0, len(list))
	for _, v := range list {
		if v != item {
			rest = append(rest, v)
		}
	}
	return rest
}

// eachMatch calls visit for every binding that the message matches.
func (x *exchange) eachMatch(r *routing, visit func(*binding)) {
	switch x.kind {
	case kindDirect:
		for _, key := range r.keys {
			for _, bd := range x.byKey[key] {
				visit(bd)
			}
		}
	case kindFanout:
		for _, bd := range x.bindings {
			visit(bd)
		}
	case kindTopic:
		x.eachTopicMatch(r, visit)
	case kindHeaders:
		headers := r.headers()
		for _, bd := range x.bindings {
			if bd.rule.matches(headers) {
				visit(bd)
			}
		}
	}
}

func (x *exchange) eachTopicMatch(r *routing, visit func(*binding)) {
	words := r.words()
	for _, bd := range x.bindings {
		for _, w := range words {
			if topicMatch(bd.pattern, w) {
				visit(bd)
				break
			}
		}
	}
}
