// Package embedded is an AMQP 0-9-1 broker in memory, for demos, laptops and tests: it behaves as RabbitMQ 3.10 does, and any
// AMQP 0-9-1 client can use it.
//
//	           net.Conn                                     Broker.mu
//	client <------------> connection: reader --> channel --> exchange --> queue --> consumer --+
//	                                  writer <-- outbox <---------------------------------------+
//
// It keeps nothing on disk: "durable" is accepted and compared, and everything is gone with the Broker. One virtual host,
// classic queues alone, no permissions, no TLS of its own (wrap the listener), no clustering, no policies.
//
// It is bounded in every direction (Limits): what a client can make it hold ends in an exception, an alarm, or in not being
// read.
//
// Start reading at Broker (broker.go), then connection.go, dispatch.go and queue.go.
package embedded
