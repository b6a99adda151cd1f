package topology

import (
	"fmt"
	"slices"
	"strings"

	"cloudqueue/federation"
)

// exchangeTypes are those that every broker has; x-… types of plugins are accepted too.
var exchangeTypes = []string{"direct", "fanout", "topic", "headers"}

// OwnQueue is the name of the router's own queue of a route that takes from an exchange.
func OwnQueue(id federation.RouteID) string { return "cq.out." + string(id) }

// source checks what a route takes.
func (b *builder) source(path, id string, in fromSchema) federation.Source {
	if (in.Exchange != nil) == (in.Queue != nil) {
		b.file.Report(path, `exchange: orders and keys: ["#"], or queue: orders`,
			"a route takes from an exchange or from a queue")
		return federation.Source{}
	}
	if in.Queue != nil {
		return b.queueSource(path, in)
	}
	s := federation.Source{Queue: OwnQueue(federation.RouteID(id)), Exchange: *in.Exchange, Keys: slices.Clone(in.Keys)}
	b.checkSourceExchange(path, *in.Exchange)
	b.checkKeys(path, in.Keys)
	if in.Declare != nil {
		s.Declare = in.Declare.Type
		b.checkExchangeType(path+".declare.type", in.Declare.Type)
	}
	return s
}

func (b *builder) queueSource(path string, in fromSchema) federation.Source {
	b.checkQueue(path+".queue", *in.Queue)
	if in.Keys != nil {
		b.file.Report(path+".keys", "exchange instead of queue", "keys bind to an exchange, a queue has none")
	}
	if in.Declare != nil {
		b.file.Report(path+".declare", "exchange instead of queue, or declare the queue at the broker",
			"declare makes an exchange")
	}
	return federation.Source{Queue: *in.Queue}
}

func (b *builder) checkSourceExchange(path, exchange string) {
	switch {
	case exchange == "":
		b.file.Report(path+".exchange", "queue: with the name of the queue",
			"nothing can be bound to the default exchange")
	case exchange == "cloudqueue":
		b.file.Report(path+".exchange", "a route for each destination",
			"the addressed exchange (cq-to) comes with a later version")
	default:
		b.checkShort(path+".exchange", "exchange", exchange)
	}
}

func (b *builder) checkKeys(path string, keys []string) {
	if len(keys) == 0 {
		b.file.Report(path+".keys", `keys: ["#"] for everything of a topic exchange, [""] for a fanout exchange`,
			"the binding patterns are missing")
	}
	if len(keys) > maxKeys {
		b.file.Report(path+".keys", "", "%d keys, the limit is %d", len(keys), maxKeys)
		return
	}
	for i, key := range keys {
		at := fmt.Sprintf("%s.keys[%d]", path, i)
		b.checkShort(at, "routing key", key)
		if slices.Contains(keys[:i], key) {
			b.file.Report(at, "it once", "the key %q stands here twice", key)
		}
	}
}

func (b *builder) checkExchangeType(path, kind string) {
	if !slices.Contains(exchangeTypes, kind) && !strings.HasPrefix(kind, "x-") {
		b.file.Report(path, "one of "+strings.Join(exchangeTypes, ", "), "%q is not a type of an exchange", kind)
	}
}

// checkQueue refuses the router's own queues, for which routes exist already.
func (b *builder) checkQueue(path, queue string) {
	if queue == "" {
		b.file.Report(path, "the queue's name", "the queue has no name")
	}
	if strings.HasPrefix(queue, "cq.") {
		b.file.Report(path, "another queue", "queues named cq.… belong to the router")
	}
	b.checkShort(path, "queue", queue)
}

// checkShort bounds what AMQP sends as a short string.
func (b *builder) checkShort(path, what, text string) {
	if len(text) > federation.MaxShortString {
		b.file.Report(path, fmt.Sprintf("at most %d bytes", federation.MaxShortString),
			"the %s has %d bytes, more than AMQP takes", what, len(text))
	}
}
