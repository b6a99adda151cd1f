package localbroker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	ErrMissing = errors.New("does not exist") // an exchange or queue that the broker does not have
	ErrClosed  = errors.New("closed")         // the part was closed, or Run has ended
)

// Broker is the router's side of the site's broker.
type Broker struct {
	cfg        Config
	target     target
	consuming  *connector
	publishing *connector

	mu      sync.Mutex      // guards what follows
	running context.Context // of Run; nil before it
	ended   bool
	waiting []part         // made before Run
	parts   sync.WaitGroup // Add only while not ended
}

// part is a consumer or a publisher: a goroutine of Run.
type part interface{ run(ctx context.Context) }

// New checks the config and reports everything that is wrong with it. Nothing is dialled before Run.
func New(cfg Config) (*Broker, error) {
	cfg, to, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Broker{cfg: cfg, target: to}
	b.consuming = b.newConnector("consuming")
	b.publishing = b.newConnector("publishing")
	return b, nil
}

func (b *Broker) newConnector(name string) *connector {
	return &connector{name: name, cfg: &b.cfg, target: &b.target,
		box: newStateBox(b.cfg.Logger.With("part", name+" connection"), stateDown, "not started")}
}

// Run keeps two connections, one for consuming and one for publishing, until ctx ends; then everything unacked is
// left to the broker, every unanswered publish is Unknown and has been told, and nothing runs any more. It runs once.
func (b *Broker) Run(ctx context.Context) error {
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx)) // the parts say goodbye first
	defer disconnect()
	if !b.begin(ctx) {
		return errors.New("a broker runs once")
	}
	var connectors sync.WaitGroup
	connectors.Go(func() { b.consuming.run(connected) })
	connectors.Go(func() { b.publishing.run(connected) })
	<-ctx.Done()
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.parts.Wait()
	disconnect()
	connectors.Wait()
	return ctx.Err()
}

func (b *Broker) begin(ctx context.Context) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil {
		return false
	}
	b.running = ctx
	for _, p := range b.waiting {
		b.parts.Go(func() { p.run(ctx) })
	}
	b.waiting = nil
	return true
}

// adopt lets p run as soon as Run does. After Run it gets a context that has ended.
func (b *Broker) adopt(p part) {
	b.mu.Lock()
	switch {
	case b.running == nil:
		b.waiting = append(b.waiting, p)
	case !b.ended:
		b.parts.Go(func() { p.run(b.running) })
	}
	late := b.ended
	b.mu.Unlock()
	if late {
		p.run(b.running) // returns at once
	}
}

// disown tells whether p never ran, and takes care that it never will.
func (b *Broker) disown(p part) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, p)
	if i < 0 {
		return false
	}
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return true
}

// Status tells of both connections.
type Status struct {
	Consuming  federation.PartState // running, connecting, down, closed
	Publishing federation.PartState // the same, or alarm: the broker takes nothing

	Alarm string // why the broker takes nothing; empty: it does

	ConsumingRetry, PublishingRetry time.Time // of the next attempt; zero while connected or trying

	Product, Version string // what the broker said of itself last; empty before the first connection
}

// Status may be called at any time.
func (b *Broker) Status() Status {
	s := Status{Consuming: b.consuming.status(), Publishing: b.publishing.status()}
	if s.Publishing.State == stateAlarm {
		s.Alarm = s.Publishing.Reason
	}
	s.ConsumingRetry, _, _ = b.consuming.about()
	s.PublishingRetry, s.Product, s.Version = b.publishing.about()
	return s
}
