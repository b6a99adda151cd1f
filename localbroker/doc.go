// Package localbroker is the router's side of the site's own AMQP 0-9-1 broker: it takes messages from queues and
// publishes into exchanges, byte for byte, and says visibly what it waits for.
//
//	            +----------- consuming connection: connector -> session -> wire <---+
//	router      |                                                                   |
//	 Next, Ack -+- Consumer: source, keeper -> attachment = one channel             |   RabbitMQ,
//	            |                                                                   +-- LavinMQ,
//	 Publish ---+- Publisher: owner lock ----> tenure = one channel, its window     |   embedded …
//	            |                                                                   |
//	            +----------- publishing connection: connector -> session -> wire <--+
//
// # Words
//
//	connector    keeps one connection: dials, and dials again with full jitter
//	session      one open connection; never repaired, thrown away as a whole
//	wire         the bytes of a session: deliveries, returns, confirms, publishes and acks pass here, beside the
//	             client library, which does the handshake, the calls (declare, bind, consume …) and the heartbeats
//	incarnation  one channel of a consumer or a publisher; its number is in every Tag and in what Acquire gives
//	keeper       a consumer's goroutine: asserts queue and bindings, consumes, starts again
//	owner lock   an exclusive consumer on cq.owner.<site>.<index>, held by the publishing channel itself
//	             (docs/design.md section 6.2)
//
// # What holds
//
//   - An ack, a nack or a publish is never queued for a channel whose incarnation is over. Acks of an earlier
//     incarnation do nothing.
//   - Every publish ends in exactly one Outcome. A return is seen before its confirm, because both pass the same
//     goroutine in the order of the wire; no slow listener can lose it (decisions.md, M1). A false or missing confirm
//     is never taken for "not done" (M2).
//   - Properties are never decoded on their way: all that a broker accepts passes, in both directions (M4).
//   - Everything that waits has a limit: a read waits 1.5 heartbeats, a write WriteTimeout, a call CallTimeout. An
//     alarm of the broker, which it announces, suspends the last two: then the broker lives and does not read, and to
//     cut would only make duplicates (M3).
//   - A publisher may ask for its channel on a connection of its own (Acquire, apart), where a publish that makes the
//     broker close the connection harms no other publisher and, alone, is Refused. The owner lock is the channel's
//     there too.
//   - A publisher that nobody uses for half a minute goes back to the shared connection, and takes its lock again when
//     its channel has ended: the lock of a lane without messages lapses for no longer, and its state says what is.
//   - Memory: a consumer asks for at most PrefetchBytes of what it saw lately, begins with 8 messages, and ends its
//     incarnation when twice that is held; a publisher has Window messages outstanding; 256 KiB wait for the socket; a
//     body takes memory as it arrives, not as it is announced.
//   - What the environment lacks (connection, exchange, permission, lock) holds its part visibly, with what to type,
//     and heals by itself.
//
// # What it does not do
//
// It deletes no queue and empties none. It does not decide what a refused or returned message means, nor when to
// publish again: when one of several unanswered messages closes the channel, all are Unknown with the broker's code,
// and the router sends them again in smaller windows until the bad one stands alone and is Refused. When one closes the
// connection the router does the same apart; where the connection is cut without a code, alone or not, all stay
// Unknown: an outage looks the same. Policies, queue arguments and permissions cannot be seen over AMQP: Inspect says
// so, and what to type.
//
// Start reading at Broker (broker.go), then wire.go, attachment.go and tenure.go.
package localbroker
