package localbroker

import (
	"context"

	"cloudqueue/federation"
)

// Consumer takes the messages of one source.
type Consumer struct{}

// Next gives the next delivery. It blocks while there is none, across reconnects and while paused. Errors: ctx's, ErrClosed.
func (c *Consumer) Next(ctx context.Context) (federation.Delivery, error) { panic("to be written") }

// Ack acknowledges every delivery up to upTo of its incarnation. It has no effect when that incarnation is over.
func (c *Consumer) Ack(ctx context.Context, upTo federation.Tag) error { panic("to be written") }

// Pause ends the incarnation: cancel, then requeue everything unacked, in order. Next blocks until Resume.
func (c *Consumer) Pause(ctx context.Context) error { panic("to be written") }

// Resume ends a pause.
func (c *Consumer) Resume() { panic("to be written") }

// SetSource changes keys, exchange and declare type of an own queue: new bindings are added before old ones are removed. The queue stays.
func (c *Consumer) SetSource(source federation.Source) { panic("to be written") }

// Detach removes all bindings of the own queue and keeps the queue and what is in it; consuming goes on.
func (c *Consumer) Detach(ctx context.Context) error { panic("to be written") }

// State tells what the consumer does or waits for.
func (c *Consumer) State() federation.PartState { panic("to be written") }

// Close cancels; nothing is acked. Next then gives ErrClosed.
func (c *Consumer) Close(ctx context.Context) error { panic("to be written") }
