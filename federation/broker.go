package federation

import (
	"fmt"
	"time"
)

// Source tells what a route takes from the local broker.
type Source struct {
	// Queue is drained. With Exchange it is the router's own durable queue (cq.out.<route id>), declared and bound by the router;
	// alone it is a queue of somebody else's, which must exist.
	Queue    string
	Exchange string
	Keys     []string // binding patterns; used with Exchange
	// Declare is the type of the exchange to declare durably when it is missing; empty: it must exist.
	Declare string
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

// OutcomeKind tells how a publish ended.
type OutcomeKind uint8

// Outcomes of a publish.
const (
	// Confirmed: the broker took it and routed it to a queue.
	Confirmed OutcomeKind = iota
	// Returned: no queue for it (basic.return); the broker holds no copy.
	Returned
	// Nacked: the broker refused it (basic.nack); a queue may hold a copy (a fan-out of which one queue was full).
	Nacked
	// Unknown: the channel ended first; the broker may have it. With Code 403, 404 or 406 some publish that was unanswered then closed it;
	// from 500 on one of this publisher or of another closed the connection that they share.
	Unknown
	// Refused: this publish alone was unanswered when the broker closed the channel with Code, or (from 500 on) a connection of the
	// publisher's own; no queue holds a copy, unless the broker failed in the middle (541).
	Refused
	// TooLarge: it was not sent; its header does not fit a frame or its body is over the limit that the broker showed.
	TooLarge
)

var outcomeNames = [...]string{"confirmed", "returned", "nacked", "unknown", "refused", "too large"}

// String gives the name of the outcome.
func (k OutcomeKind) String() string {
	if int(k) < len(outcomeNames) {
		return outcomeNames[k]
	}
	return fmt.Sprintf("outcome %d", uint8(k))
}

// Outcome is how a publish ended, with the broker's reply code (AMQP 0-9-1 section 1.1) and text where there is one.
type Outcome struct {
	Kind OutcomeKind
	Code uint16
	Text string
}

// PartState is what a part of the router says of itself to `status`.
type PartState struct {
	State  string // running, waiting, held, unsafe, down …
	Reason string // why, for people; empty when running
	Fix    string // what to type or to change; empty when nothing helps but time
	Since  time.Time
}
