package localbroker

import (
	"context"
	"errors"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	ErrMissing = errors.New("does not exist") // an exchange or queue that the broker does not have
	ErrClosed  = errors.New("closed")         // the part was closed, or Run has ended
)

// Broker is the router's side of the site's broker.
type Broker struct{ cfg Config }

// New checks the config. Nothing is dialled before Run.
func New(cfg Config) (*Broker, error) { panic("to be written") }

// Run keeps two connections, one for consuming and one for publishing, until ctx ends; then everything unacked is
// left to the broker, every unanswered publish is Unknown and has been told, and nothing runs any more. It runs once.
func (b *Broker) Run(ctx context.Context) error { panic("to be written") }

// Status tells of both connections.
type Status struct {
	Consuming  federation.PartState // running, connecting, down
	Publishing federation.PartState // the same, or alarm: the broker takes nothing
}

// Status may be called at any time.
func (b *Broker) Status() Status { panic("to be written") }

// Consumer makes a consumer of source. It works while Run does, until it is closed.
func (b *Broker) Consumer(source federation.Source) *Consumer { panic("to be written") }

// Publisher makes the publisher that holds the owner lock cq.owner.<site>.<index>. It works while Run does, until it is closed.
func (b *Broker) Publisher(index uint32) *Publisher { panic("to be written") }

// CheckExchange asks whether an exchange exists, on a channel of its own. A missing one is declared durably with
// declareType, or is ErrMissing when that is empty.
func (b *Broker) CheckExchange(ctx context.Context, name, declareType string) error {
	panic("to be written")
}

// Finding is one line of what Inspect found.
type Finding struct {
	Subject string // connection, exchange orders, queue cq.out.orders …
	Level   Level
	Text    string
	Fix     string // what to type or to change; empty when Level is Good
}

// Level tells how bad a finding is.
type Level uint8

// Levels of findings.
const (
	Good    Level = iota
	Unknown       // AMQP alone cannot see it
	Unsafe        // it works, and messages may be lost or doubled
	Broken        // it does not work
)

// Wish is what Inspect looks at.
type Wish struct {
	Sources   []federation.Source
	Exchanges []string // to publish to
	Publisher uint32   // index of the owner lock
}

// Inspect dials connections of its own (Run need not run) and looks without changing anything.
func (b *Broker) Inspect(ctx context.Context, wish Wish) []Finding { panic("to be written") }
