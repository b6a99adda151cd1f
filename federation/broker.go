package federation

// Source tells what a route takes from the local broker.
type Source struct {
	// Queue is drained. With Exchange it is the router's own durable queue (cq.out.<route id>), declared and bound by
	// the router; alone it is a queue of somebody else's, which must exist.
	Queue    string
	Exchange string
	Keys     []string // binding patterns; used with Exchange
	// Declare is the type of the exchange to declare durably when it is missing; empty: it must exist.
	Declare string
}

// String is the exchange that a route takes from, or else the queue.
func (s Source) String() string {
	if s.Exchange != "" {
		return "exchange " + s.Exchange
	}
	return "queue " + s.Queue
}

// Tag names a delivery on one incarnation of a consumer's channel. Numbers restart with every incarnation.
type Tag struct {
	Incarnation uint64
	Number      uint64
}

// Delivery is a message that the local broker handed over and that is not acked yet.
type Delivery struct {
	Tag         Tag
	Message     Message
	Redelivered bool // also when x-delivery-count or x-acquired-count says so
}
