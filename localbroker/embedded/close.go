package embedded

import (
	"context"
	"maps"
	"slices"
)

// Close ends every connection as ServeConn does when its ctx ends, and drops all messages. When ctx ends first, what is
// left is cut off, and that is the one error: that of ctx. After it the broker serves nothing; a second call does
// nothing.
func (b *Broker) Close(ctx context.Context) (err error) {
	b.end()
	left := b.everyConnection()
	for _, c := range left {
		c.leave(shutdown())
	}
	b.deleteQueues()
	for _, c := range left {
		if cut := c.awaitEnd(ctx); cut != nil {
			err = cut
		}
	}
	return err
}

// awaitEnd cuts the connection when it has not ended by the end of ctx, whose error it gives then.
func (c *connection) awaitEnd(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-c.done: // both at once: nothing was cut
		return nil
	default:
	}
	c.cut()
	<-c.done
	return ctx.Err()
}

func shutdown() *exception {
	return fail(replyConnectionForced, "broker forced connection closure with reason 'shutdown'")
}

func (b *Broker) everyConnection() []*connection {
	b.mu.Lock()
	defer b.unlock()
	return slices.Collect(maps.Values(b.connections))
}

// deleteQueues stops every timer of the broker.
func (b *Broker) deleteQueues() {
	b.mu.Lock()
	defer b.unlock()
	for _, q := range b.queues {
		q.delete()
	}
}
