package router

import (
	"context"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// Broker is the local AMQP broker. Consumer and Publisher start nothing; the parts they give work when used.
type Broker interface {
	// Consumer also unbinds the router's own queue from what left says and source does not, once source is bound.
	Consumer(source federation.Source, left ...federation.Source) Consumer
	// Leftover is a Consumer of the router's own queue whose route is gone, as after SetSource with the queue alone; what left
	// says is unbound too.
	Leftover(source federation.Source, left ...federation.Source) Consumer
	// Publisher gives the publishing channel that holds the owner lock cq.owner.<site>.<index>.
	Publisher(index uint32) Publisher
	// CheckExchange returns nil when the exchange exists (or was declared with the given type), ErrExchangeMissing when it
	// does not, another error when the broker could not be asked.
	CheckExchange(ctx context.Context, name, declare string) error
}

// Consumer takes messages from one queue. Next is for one goroutine, the rest for any.
type Consumer interface {
	// Next blocks across lost connections; its error is the context's, or that the consumer is closed.
	Next(ctx context.Context) (federation.Delivery, error)
	// Ack acks every delivery up to a tag; the tag of an earlier incarnation has no effect.
	Ack(ctx context.Context, upTo federation.Tag) error
	// Pause gives everything unacked back to the queue, in order; Next blocks until Resume.
	Pause(ctx context.Context) error
	Resume()
	// SetSource changes bindings; the queue must be the same. With the queue alone the router's own one is unbound, never
	// declared again, and what is in it is still taken. Left is what Broker.Consumer's says; to say it twice does no harm.
	SetSource(source federation.Source, left ...federation.Source)
	// Detach is SetSource with the queue alone, and waits until nothing is bound any more.
	Detach(ctx context.Context) error
	// State is "closed" while a queue of the router's own that is not wanted any more does not exist.
	State() federation.PartState
	// Close stops consuming and acks nothing.
	Close(ctx context.Context) error
}

// Publisher publishes with confirms on one channel that holds an owner lock.
type Publisher interface {
	// Acquire waits until the channel is open and the lock is held; its error is the context's. With apart the channel is on a
	// connection of the publisher's own, without on the one that all share; to ask for the other one ends the incarnation.
	Acquire(ctx context.Context, apart bool) (incarnation uint64, err error)
	// TryPublish sends m, calls outcome exactly once, later or at once, and never waits. Unless both results are nil nothing of m was
	// or will be sent, and outcome is never called: with again the broker takes nothing more at this moment, and m may be tried
	// once more when it is closed; an error says that the incarnation is over.
	TryPublish(incarnation uint64, m federation.Message, outcome func(federation.Outcome)) (again <-chan struct{}, err error)
	// Publish is TryPublish that waits; its error is also the context's.
	Publish(ctx context.Context, incarnation uint64, m federation.Message, outcome func(federation.Outcome)) error
	State() federation.PartState
	Close(ctx context.Context) error
}

// Link is the connection to one peer, up from its birth until Down is called for it.
type Link interface {
	Peer() federation.SiteID
	// Hello is what the peer said of itself.
	Hello() federation.Hello
	// Copy queues a batch on the lane's stream and blocks while the stream's queue is full. With nil, answer is called
	// exactly once, from any goroutine, with LinkLost when the link ends first; with an error never.
	Copy(ctx context.Context, class uint8, lane federation.Lane, side federation.Sidecar, b *federation.Batch, answer Answer) error
	// Send queues a control frame.
	Send(ctx context.Context, f federation.Frame) error
}

// Answer takes a verdict on a copy, and how long to wait before the next try (0: the sender's choice).
type Answer = func(federation.Verdict, time.Duration)

// Peers is the endpoint of the links; it calls Router's Greet, Up, Down, Copy and Control.
type Peers interface {
	// SetPeers gives the linked sites; reachable tells whether they have an address of this one.
	SetPeers(peers []topology.Peer, reachable bool)
	// Drain lets no new link come up, and both ends of each link finish what they have begun; then it closes them. Its error
	// names the links that were not drained within ctx. Nothing takes it back.
	Drain(ctx context.Context) error
}

// TopologySource gives the document to act on; each value replaces the one before.
type TopologySource interface {
	Snapshots() <-chan topology.Snapshot
	// Begin is called before the router acts on a snapshot: after nil, whoever starts later knows what it may have bound. After
	// an error nothing is bound, and it is called again.
	Begin(ctx context.Context, s topology.Snapshot) error
	// Applied is called when the router acts on a snapshot, after everything that it implies is durable. After an error, which
	// it shows itself, it is called again.
	Applied(ctx context.Context, s topology.Snapshot) error
	// NotApplied is called when the router could not do all that a snapshot implies; it tries again.
	NotApplied(s topology.Snapshot, why error)
}

// Properties reads and edits raw AMQP property bytes.
type Properties interface {
	Facts(raw []byte) (PropertyFacts, error)
	// Deliver returns the bytes to publish with. An error means that the bytes are not valid AMQP properties.
	Deliver(raw []byte, e DeliveryEdit) ([]byte, error)
}

// PropertyFacts are what the router wants to know of a message's properties.
type PropertyFacts struct {
	ID        string              // x-cq-id; empty without one
	Path      []federation.SiteID // x-cq-path
	Transient bool                // delivery-mode 1
	TTL       time.Duration       // expiration; federation.NoTTL without one
}

// DeliveryEdit is what a destination changes.
type DeliveryEdit struct {
	ID        string // x-cq-id: lane@generation:offset
	Origin    federation.SiteID
	Path      []federation.SiteID
	Time      time.Time // x-cq-time: when the origin took it
	Duplicate bool
	Remaining time.Duration // federation.NoTTL: leave expiration as it is
	// TrustUserID keeps user-id; otherwise it moves to x-cq-user-id.
	TrustUserID bool
}
