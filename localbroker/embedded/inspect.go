package embedded

import (
	"sort"
)

// Counters are totals since New.
type Counters struct {
	Published          uint64 // messages taken from clients, dead letters not counted
	Delivered          uint64 // by consumers and basic.get, redeliveries included
	Settled            uint64 // acked, rejected or requeued
	Returned           uint64 // mandatory and without a queue
	Unroutable         uint64 // dropped without a word: not mandatory and without a queue
	RefusedConnections uint64 // over a limit
}

// Counters returns the totals.
func (b *Broker) Counters() Counters {
	b.mu.Lock()
	defer b.unlock()
	return b.counters
}

// QueueInfo is the state of one queue.
type QueueInfo struct {
	Name      string
	Durable   bool
	Exclusive bool
	Ready     int   // messages to deliver
	Unacked   int   // delivered, not settled
	Bytes     int64 // bodies of what is ready
	Consumers int
}

// Queues returns all queues by name.
func (b *Broker) Queues() []QueueInfo {
	b.mu.Lock()
	defer b.unlock()
	infos := make([]QueueInfo, 0, len(b.queues))
	for _, q := range b.queues {
		infos = append(infos, q.info())
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })
	return infos
}

// Queue returns one queue; ok is false when there is none of that name.
func (b *Broker) Queue(name string) (info QueueInfo, ok bool) {
	b.mu.Lock()
	defer b.unlock()
	q := b.queues[name]
	if q == nil {
		return QueueInfo{}, false
	}
	return q.info(), true
}

func (q *queue) info() QueueInfo {
	return QueueInfo{
		Name: q.name, Durable: q.durable, Exclusive: q.owner != nil,
		Ready: q.readyCount, Unacked: q.unsettled, Bytes: q.readyBytes, Consumers: len(q.consumers),
	}
}

// Message is a message in a queue. Properties (the raw property list, flags first) and Body are shared with the broker:
// do not change them.
type Message struct {
	Exchange    string
	RoutingKey  string
	Properties  []byte
	Body        []byte
	Redelivered bool
	Position    uint64 // order of arrival in its queue, and what Remove takes
}

// Snapshot returns what is ready in a queue, in order of delivery, and takes nothing. Messages that a client has and
// has not settled are not in it. It is nil for a queue that does not exist.
func (b *Broker) Snapshot(name string) []Message {
	b.mu.Lock()
	defer b.unlock()
	q := b.queues[name]
	if q == nil {
		return nil
	}
	q.dropExpired()
	messages := make([]Message, 0, q.readyCount)
	q.each(func(r *ring, i int) bool {
		messages = append(messages, r.at(i).shown())
		return true
	})
	return messages
}

func (e *entry) shown() Message {
	return Message{
		Exchange: e.exchange, RoutingKey: e.key(), Properties: e.properties.raw, Body: e.body,
		Redelivered: e.redelivered, Position: e.position,
	}
}

// Remove takes one message out of a queue without a trace, as no broker should: for checkers that must notice it. It is
// false when no ready message of that queue has the position.
func (b *Broker) Remove(name string, position uint64) (Message, bool) {
	b.mu.Lock()
	defer b.unlock()
	q := b.queues[name]
	if q == nil {
		return Message{}, false
	}
	var found *entry
	q.each(func(r *ring, i int) bool {
		if r.at(i).position == position {
			found = q.popped(r.remove(i))
		}
		return found == nil
	})
	if found == nil {
		return Message{}, false
	}
	b.release(found.message)
	return found.shown(), true
}

// ConnectionInfo is the state of one connection.
type ConnectionInfo struct {
	ID       uint64
	Remote   string
	Name     string // connection_name of the client's properties
	User     string
	Channels int
	Blocked  bool // publishing during an alarm: not read until it is over
}

// Connections returns the connections that have finished their handshake, oldest first.
func (b *Broker) Connections() []ConnectionInfo {
	b.mu.Lock()
	defer b.unlock()
	infos := make([]ConnectionInfo, 0, len(b.connections))
	for _, c := range b.connections {
		if c.opened {
			infos = append(infos, c.info())
		}
	}
	sort.Slice(infos, func(i, j int) bool { return infos[i].ID < infos[j].ID })
	return infos
}

func (c *connection) info() ConnectionInfo {
	return ConnectionInfo{
		ID: c.id, Remote: c.conn.RemoteAddr().String(), Name: c.client.name, User: c.user,
		Channels: len(c.channels), Blocked: c.blocked,
	}
}
