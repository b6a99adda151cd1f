package router

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
)

// fakeBroker has a queue for each source and a channel for each publisher. It confirms everything, until it is told otherwise.
type fakeBroker struct {
	mu         sync.Mutex
	consumers  map[string]*fakeConsumer
	publishers []*fakePublisher
	appeared   []string      // bodies in the order of their publish; flagged ones with a star
	poison     string        // a body that closes its channel
	code       uint16        // with this; 0: 406
	deadly     string        // a body that closes its connection with 541
	mute       bool          // without a word instead
	closed     int           // how often the shared connection was closed
	silent     bool          // takes and answers nothing
	alarm      chan struct{} // takes nothing until this is closed; nil: no alarm
	missing    bool          // has no exchange
	limit      int           // of a body; 0: none
}

func newFakeBroker() *fakeBroker { return &fakeBroker{consumers: map[string]*fakeConsumer{}} }

func (b *fakeBroker) Consumer(source federation.Source, left ...federation.Source) Consumer {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &fakeConsumer{deliveries: make(chan federation.Delivery, 10_000), incarnation: 1}
	b.consumers[source.Queue] = c
	return c
}

func (b *fakeBroker) Leftover(source federation.Source, left ...federation.Source) Consumer {
	return b.Consumer(source)
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

func (b *fakeBroker) CheckExchange(context.Context, string, string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing {
		return ErrExchangeMissing
	}
	return nil
}

// setAlarm begins an alarm; what it gives ends it.
func (b *fakeBroker) setAlarm() (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	alarm := make(chan struct{})
	b.alarm = alarm
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.alarm = nil
		close(alarm)
	}
}

// setSilent has it answer nothing from now on; what it gives has it answer everything.
func (b *fakeBroker) setSilent() (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = true
	return func() {
		b.mu.Lock()
		b.silent = false
		publishers := b.publishers
		b.mu.Unlock()
		for _, p := range publishers {
			p.answer()
		}
	}
}

func (b *fakeBroker) bodies() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.appeared...)
}

type fakeConsumer struct {
	deliveries chan federation.Delivery

	mu          sync.Mutex
	incarnation uint64
	given       uint64
	acked       uint64
	paused      bool // as it was told; what a test gives is taken all the same
}

func (c *fakeConsumer) give(body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given++
	c.deliveries <- federation.Delivery{Tag: federation.Tag{Incarnation: c.incarnation, Number: c.given}, Message: federation.Message{Exchange: "orders", RoutingKey: "k", Body: []byte(body)}}
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

// Pause ends the incarnation. What was given is gone: somebody took it out of the queue.
func (c *fakeConsumer) Pause(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.incarnation++
	c.paused = true
	return nil
}

func (c *fakeConsumer) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
}

func (c *fakeConsumer) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

func (c *fakeConsumer) SetSource(federation.Source, ...federation.Source) {}
func (c *fakeConsumer) Detach(context.Context) error                      { return nil }
func (c *fakeConsumer) Close(context.Context) error                       { return nil }
func (c *fakeConsumer) State() federation.PartState                       { return federation.PartState{State: "running"} }

// fakePublisher answers publishes a millisecond later. A poisoned one closes the channel, with that and everything before it unconfirmed:
// after closesAfter more publishes, which then fail without a code, or with the next answers.
type fakePublisher struct {
	broker      *fakeBroker
	incarnation uint64
	apart       bool // on a connection of its own
	open        []publishing
	answering   bool
}

// closesAfter is how many publishes a client sends before it hears that an earlier one closed its channel.
const closesAfter = 10

type publishing struct {
	body    string // as it would appear
	poison  bool
	deadly  bool
	outcome func(federation.Outcome)
}

func (p *fakePublisher) isApart() bool {
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	return p.apart
}

func (p *fakePublisher) Acquire(_ context.Context, apart bool) (uint64, error) {
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	if p.apart != apart {
		p.apart = apart
		p.incarnation++
	}
	return p.incarnation, nil
}

func (p *fakePublisher) TryPublish(incarnation uint64, m federation.Message, outcome func(federation.Outcome)) (again <-chan struct{}, err error) {
	b := p.broker
	b.mu.Lock()
	defer b.mu.Unlock()
	if incarnation != p.incarnation {
		return nil, errors.New("the channel is over")
	}
	if b.alarm != nil {
		return b.alarm, nil
	}
	if b.limit > 0 && len(m.Body) > b.limit {
		outcome(federation.Outcome{Kind: federation.TooLarge, Text: "over the limit"})
		return nil, nil
	}
	body := string(m.Body)
	if string(m.Properties) == "duplicate" {
		body += "*"
	}
	p.open = append(p.open, publishing{body, string(m.Body) == b.poison, string(m.Body) == b.deadly, outcome})
	switch at := slices.IndexFunc(p.open, func(o publishing) bool { return o.poison || o.deadly }); {
	case at >= 0 && len(p.open)-at > closesAfter:
		p.close(at)
	case !p.answering && !b.silent:
		p.answering = true
		go p.answer()
	}
	return nil, nil
}

func (p *fakePublisher) Publish(ctx context.Context, incarnation uint64, m federation.Message, outcome func(federation.Outcome)) error {
	for {
		again, err := p.TryPublish(incarnation, m, outcome)
		if again == nil {
			return err
		}
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer confirms what is open, or closes the channel.
func (p *fakePublisher) answer() {
	time.Sleep(time.Millisecond)
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	p.answering = false
	if at := slices.IndexFunc(p.open, func(o publishing) bool { return o.poison || o.deadly }); at >= 0 {
		p.close(at)
		return
	}
	for _, o := range p.open {
		p.broker.appeared = append(p.broker.appeared, o.body)
		o.outcome(federation.Outcome{Kind: federation.Confirmed})
	}
	p.open = nil
}

// lose ends the channel without a reason; of what is open nothing appeared.
func (p *fakePublisher) lose() {
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	for _, o := range p.open {
		o.outcome(federation.Outcome{Kind: federation.Unknown, Text: "lost"})
	}
	p.open = nil
	p.incarnation++
}

// close ends the channel over the poisoned publish, or the connection with all that are on it. Callers hold the broker's mu.
func (p *fakePublisher) close(at int) {
	code := cmp.Or(p.broker.code, federation.CodePrecondition)
	if p.open[at].deadly {
		code = 541
	}
	if p.broker.mute {
		code = 0
	}
	if p.open[at].deadly && !p.apart {
		p.broker.closed++
		for _, other := range p.broker.publishers {
			if other != p && !other.apart {
				other.end(len(other.open), federation.Unknown, code)
			}
		}
		p.end(at, federation.Unknown, code)
		return
	}
	kind := federation.Unknown
	if len(p.open) == 1 && code != 0 {
		kind = federation.Refused
	}
	p.end(at, kind, code)
}

// end ends the channel; what is open before at has appeared. Callers hold the broker's mu.
func (p *fakePublisher) end(at int, kind federation.OutcomeKind, code uint16) {
	for i, o := range p.open {
		if i < at {
			p.broker.appeared = append(p.broker.appeared, o.body)
		}
		o.outcome(federation.Outcome{Kind: kind, Code: code, Text: "poison"})
	}
	p.open = nil
	p.incarnation++
}

func (p *fakePublisher) State() federation.PartState {
	p.broker.mu.Lock()
	defer p.broker.mu.Unlock()
	if p.broker.alarm != nil {
		return federation.PartState{State: "alarm", Reason: "the broker has an alarm: memory", Fix: "free memory"}
	}
	return federation.PartState{State: "running"}
}

func (p *fakePublisher) Close(context.Context) error { return nil }
