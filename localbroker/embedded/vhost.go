package embedded

import (
	"crypto/rand"
	"encoding/base64"
)

// predeclare makes the exchanges that every virtual host has.
func (b *Broker) predeclare() {
	for name, kind := range map[string]exchangeKind{
		"": kindDirect, "amq.direct": kindDirect, "amq.fanout": kindFanout, "amq.topic": kindTopic,
		"amq.headers": kindHeaders, "amq.match": kindHeaders,
	} {
		b.exchanges[name] = &exchange{name: name, kind: kind, durable: true}
	}
	b.exchanges["amq.rabbitmq.trace"] = &exchange{name: "amq.rabbitmq.trace", kind: kindTopic, durable: true,
		internal: true}
}

// generated is a name that nobody else has: the prefix and 128 random bits.
func (b *Broker) generated(prefix string) string {
	var id [16]byte
	rand.Read(id[:])
	return prefix + base64.RawURLEncoding.EncodeToString(id[:])
}

// unbind drops bindings of one exchange. An auto-delete exchange ends with its last one.
func (b *Broker) unbind(x *exchange, leaves func(*binding) bool) {
	dropped := x.drop(leaves)
	b.bindings -= dropped
	if dropped > 0 && x.autoDelete && len(x.bindings) == 0 && b.exchanges[x.name] == x {
		b.removeExchange(x)
	}
}

func (b *Broker) removeExchange(x *exchange) {
	delete(b.exchanges, x.name)
	b.bindings -= x.drop(func(*binding) bool { return true })
	for _, y := range b.exchanges {
		b.unbind(y, func(bd *binding) bool { return bd.exchange == x })
	}
}

// hold and release account for what messages cost in memory.
func (b *Broker) hold(m *message) {
	b.held += m.cost()
	b.judgeMemory()
}

func (b *Broker) release(m *message) {
	b.held -= m.cost()
	b.judgeMemory()
}
