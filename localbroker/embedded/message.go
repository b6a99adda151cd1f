package embedded

import "time"

// message is what a publisher sent: immutable, shared by every queue that holds it.
type message struct {
	exchange   string
	keys       []string // the routing key, then those of CC and BCC
	properties properties
	body       []byte
}

func (m *message) key() string { return m.keys[0] }

// entry is a message's place in one queue. Guarded by Broker.mu.
type entry struct {
	*message
	position    uint64    // order of arrival in the queue; a requeued entry goes back to it
	expires     time.Time // zero: never
	redelivered bool
}

// entryOverhead is what an entry costs beside its bytes: the structs, its share of the ring and of the exchange and
// key.
const entryOverhead = 256

func (m *message) cost() int64 {
	return int64(len(m.body)+len(m.properties.raw)) + entryOverhead
}

func (m *message) priority() byte { return m.properties.octet(propPriority) }
