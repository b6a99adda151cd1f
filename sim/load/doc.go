// Package load makes traffic at the brokers as services do: publishers with confirms, consumers, realistic bodies.
//
//	Generator ──► Publisher ──► exchange  …  queue ──► Consumer, Drain ──► check.Appearance
//	                 └── check.Published ─────────────► check.Judge ◄───────────┘
//
// A body is a JSON event of an exact size that says whose it is: its lane, its index in that lane, and when it was sent.
// The rest of it follows from the generator's seed, lane, index and time, so that whoever reads it can tell whether a byte was
// changed, and nobody has to remember what was sent.
//
// A Publisher knows of every publish whether the broker confirmed it. What stays unknown, because the connection ended
// first, is published again with a new index: to everybody else it is another message.
//
// All of it runs on github.com/rabbitmq/amqp091-go, unmodified, as a service would, and survives brokers that are killed
// meanwhile. Start reading at Publisher.
package load
