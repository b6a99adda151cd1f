package router

import (
	"context"
	"sync"

	"cloudqueue/federation"
)

// fakeBroker has a queue for each source and a channel for each publisher. It confirms everything, until it is told otherwise.
type fakeBroker struct {
	mu         sync.Mutex
	consumers  map[string]*fakeConsumer
	publishers []*fakePublisher
	appeared   []string // bodies in the order of their publish; flagged ones with a star
	poison     string   // a body that closes its channel with 406
	silent     bool     // takes and answers nothing
	alarm      bool     // takes nothing
}

func newFakeBroker() *fakeBroker { return &fakeBroker{consumers: map[string]*fakeConsumer{}} }

func (b *fakeBroker) Consumer(source federation.Source) Consumer {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &fakeConsumer{deliveries: make(chan federation.Delivery, 10_000)}
	b.consumers[source.Queue] = c
	return c
}

func (b *fakeBroker) consumer(queue string) *fakeConsumer {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.consumers[queue]
}

func (b *fakeBroker) Publisher(uint32) Publisher {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &fakePublisher{broker: b, incarnation: 1}
	b.publishers = append(b.publishers, p)
	return p
}

func (b *fakeBroker) CheckExchange(context.Context, string, string) error { return nil }

func (b *fakeBroker) bodies() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.appeared...)
}

type fakeConsumer struct {
	deliveries chan federation.Delivery

	mu    sync.Mutex
	given uint64
	acked uint64
}

func (c *fakeConsumer) give(body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given++
	c.deliveries <- federation.Delivery{Tag: federation.Tag{Incarnation: 1, Number: c.given}, Message: federation.Message{Exchange: "orders", RoutingKey: "k", Body: []byte(body)}}
}

func (c *fakeConsumer) Next(ctx context.Context) (federation.Delivery, error) {
	select {
	case d := <-c.deliveries:
		return d, nil
	case <-ctx.Done():
		return federation.Delivery{}, ctx.Err()
	}
}

func (c *fakeConsumer) Ack(_ context.Context, upTo federation.Tag) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked = max(c.acked, upTo.Number)
	return nil
}

func (c *fakeConsumer) Pause(context.Context) error  { return nil }
func (c *fakeConsumer) Resume()                      {}
func (c *fakeConsumer) SetSource(federation.Source)  {}
func (c *fakeConsumer) Detach(context.Context) error { return nil }
func (c *fakeConsumer) Close(context.Context) error  { return nil }
func (c *fakeConsumer) State() federation.PartState  { return federation.PartState{State: "running"} }

// fakePublisher takes publishes at once and answers them when the test's goroutines wait. A poisoned one closes its channel only after
// the publishes of the same turn, as a broker's answer comes later than the client's next frames.
type fakePublisher struct {
	broker      *fakeBroker
	incarnation uint64
	open        []publishing
	answering   bool
}

type publishing struct {
	body    string
	outcome func(federation.Outcome)
}

func (p *fakePublisher) Acquire(context.Context) (uint64, error) {
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	return p.incarnation, nil
}

func (p *fakePublisher) Publish(ctx context.Context, incarnation uint64, m federation.Message, outcome func(federation.Outcome)) {
	b := p.broker
	b.mu.Lock()
	if b.alarm {
		b.mu.Unlock()
		<-ctx.Done()
		outcome(federation.Outcome{Kind: federation.Unknown, Text: "not sent"})
		return
	}
	defer b.mu.Unlock()
	if incarnation != p.incarnation {
		go outcome(federation.Outcome{Kind: federation.Unknown, Text: "the channel is over"})
		return
	}
	body := string(m.Body)
	if string(m.Properties) == "duplicate" {
		body += "*"
	}
	p.open = append(p.open, publishing{body, outcome})
	if string(m.Body) == b.poison {
		p.close()
		return
	}
	if !p.answering && !b.silent {
		p.answering = true
		go p.answer()
	}
}

// answer confirms what is open.
func (p *fakePublisher) answer() {
	p.broker.mu.Lock()
	open := p.open
	p.open, p.answering = nil, false
	for _, o := range open {
		p.broker.appeared = append(p.broker.appeared, o.body)
	}
	p.broker.mu.Unlock()
	for _, o := range open {
		o.outcome(federation.Outcome{Kind: federation.Confirmed})
	}
}

// close ends the channel over its last publish. Callers hold the broker's mu.
func (p *fakePublisher) close() {
	open := p.open
	p.open = nil
	p.incarnation++
	kind := federation.Unknown
	if len(open) == 1 {
		kind = federation.Refused
	}
	for _, o := range open {
		o.outcome(federation.Outcome{Kind: kind, Code: codePrecondition, Text: "poison"})
	}
}

func (p *fakePublisher) State() federation.PartState { return federation.PartState{State: "running"} }

func (p *fakePublisher) Close(context.Context) error { return nil }
