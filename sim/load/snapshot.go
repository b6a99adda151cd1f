package load

import (
	"cloudqueue/localbroker/amqpwire"
	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/check"
)

// Appearances are the messages of an embedded broker's queue as the judge sees them, without taking them. seed is that of the bodies.
func Appearances(messages []embedded.Message, seed uint64) []check.Appearance {
	generator := NewGenerator(seed, MinSize)
	out := make([]check.Appearance, 0, len(messages))
	for _, m := range messages {
		event, intact := generator.Check(m.Body)
		a := check.Appearance{Lane: event.Lane, Index: event.Index, Intact: intact, Redelivered: m.Redelivered}
		if facts, err := amqpwire.Read(m.Properties); err == nil {
			a.Flagged = facts.Duplicate
			a.ID, _ = check.ParseID(facts.ID) // without one the judge says so
		}
		out = append(out, a)
	}
	return out
}
