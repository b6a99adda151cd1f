// Package embedded is an AMQP 0-9-1 broker in memory, for demos, laptops and tests: it behaves as RabbitMQ 3.10 does,
// and any AMQP 0-9-1 client can use it.
//
//	client --net.Conn--> reader --> channel --> exchange --> queue --> consumer --> outbox --> writer --net.Conn--> client
//	                     one per connection     '-------- under Broker.mu --------'            one per connection
//
//	exchange    takes messages and names the bindings that match: direct, fanout, topic, headers
//	queue       holds messages in order (ready) and those that clients have (unsettled)
//	entry       a message's place in one queue; a requeued one goes back to it
//	consumer    a subscription of one channel to one queue
//	alarm       more memory is held than allowed, or somebody says so: publishers are not read, consuming goes on
//	exception   what closes a channel or a connection after a client's mistake, with RabbitMQ's code and text
//
// # What it guarantees
//
// A confirm means that the message is in every queue that it was routed to; a return comes before its confirm. Messages
// of a queue are delivered in the order in which they came; requeued ones go back to their place and are marked
// redelivered. What the broker does not have to change (BCC, a direct reply-to, x-death) goes out byte for byte as it
// came in. What an exclusive consumer or an exclusive queue kept from others is free once its channel or connection has
// ended, and an ended one publishes nothing more.
//
// Everything that a client can make it hold is bounded (Limits): it ends in an exception, in the alarm, or in the
// client not being read. Every wait on a client has a time-out (Config).
//
// # How that is checked
//
// testdata/conformance holds conversations with the answers of RabbitMQ 3.10.8. Every test run plays them against this
// package in virtual time; the integration run plays them against a real RabbitMQ, and with -update records them. The
// integration tests of amqp091-go run against both as well. Frames, tables and properties are read and written by code
// of its own, which shares nothing with amqpwire: a mistake in one of them shows where the other reads it. After every
// step of a test the broker's books are recounted (invariants_test.go).
//
// # Faults on purpose
//
// fault.go is for tests of what a client does when its broker fails: Config.Fate loses, refuses or answers for single
// messages, CloseConnection and CutConnection end single connections, SetAlarm raises the alarm. Nothing of it happens
// unasked.
//
// # What it does not do
//
// Nothing is on disk: "durable" is accepted and compared, and all is gone with the Broker. There are classic queues
// alone, one virtual host, no permissions, policies, clustering or consumer time-out, and no TLS of its own (wrap the
// listener).
//
// It differs from RabbitMQ where a client should not notice: a message may have 16 MiB instead of 128; tables may be
// nested 128 deep instead of without end; a body longer than announced is refused at once; a failed handshake is not
// punished with three seconds of silence; confirms do not wait for a disk.
//
// Start reading at Broker (broker.go), then connection.go, dispatch.go and queue.go.
package embedded
