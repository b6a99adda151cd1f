package localbroker

import (
	"context"

	"cloudqueue/federation"
)

// Publisher publishes on one channel, with the owner lock held by that channel itself.
type Publisher struct{}

// Acquire waits until the channel is open in confirm mode and holds the lock, and names the incarnation. Errors: ctx's, ErrClosed.
func (p *Publisher) Acquire(ctx context.Context) (incarnation uint64, err error) {
	panic("to be written")
}

// Publish sends m as mandatory and later calls outcome exactly once, from the publisher's one goroutine. It waits while the
// window is full or the broker has an alarm. m must not change before its outcome.
func (p *Publisher) Publish(ctx context.Context, incarnation uint64, m federation.Message, outcome func(federation.Outcome)) {
	panic("to be written")
}

// State tells what the publisher does or waits for.
func (p *Publisher) State() federation.PartState { panic("to be written") }

// Close gives the lock back; what is unanswered is Unknown, and has been told when Close returns nil.
func (p *Publisher) Close(ctx context.Context) error { panic("to be written") }
