package faults

import (
	"testing"

	"cloudqueue/sim/world"
)

// story is the world with the words of these stories.
type story struct{ *world.World }

// newStory starts everything but the publisher. The sites named have a RabbitMQ node, the others an embedded broker.
func newStory(t *testing.T, real ...string) story {
	t.Helper()
	return story{world.New(t, world.Config{RabbitMQ: real})}
}

// crowd waits until messages arrive, and lets the publisher hurry until a hundred are in flight: at most rates the routers take
// what comes within milliseconds, and a few dozen are on their way.
func (w story) crowd() {
	w.T.Helper()
	before := w.Arrived()
	w.Eventually("it delivers", func() bool { return w.Arrived() > before })
	w.Publisher.Hurry(true)
	defer w.Publisher.Hurry(false)
	inFlight := 0
	w.Eventually("a hundred messages are in flight", func() bool {
		n, err := w.InFlight()
		inFlight = n
		return err == nil && n >= 100
	})
	w.T.Logf("%d messages in flight", inFlight)
}
