package federation

import "fmt"

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
	// Unknown: the channel ended first; the broker may have it. With a Code that is OverPublish some publish that was
	// unanswered then closed it; from CodeHard on one of this publisher or of another closed the connection that they
	// share.
	Unknown
	// Refused: this publish alone was unanswered when the broker closed the channel with Code, or (from CodeHard on) a
	// connection of the publisher's own; no queue holds a copy, unless the broker failed in the middle (541).
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

// Reply codes of AMQP 0-9-1 (section 1.1) with which a broker answers one publish.
const (
	CodeTooLarge      = 311 // content-too-large: closes the channel
	CodeNoRoute       = 312 // no-route: comes with basic.return
	CodeAccessRefused = 403 // access-refused: speaks of the exchange; closes the channel
	CodeNotFound      = 404 // not-found: speaks of the exchange; closes the channel
	CodePrecondition  = 406 // precondition-failed: closes the channel
	CodeHard          = 500 // from here on hard errors (frame-error, syntax-error, internal-error …): they close the connection
)

// OverPublish tells whether a channel that ended with the code was closed because of one publish.
func OverPublish(code uint16) bool {
	switch code {
	case CodeTooLarge, CodeAccessRefused, CodeNotFound, CodePrecondition:
		return true
	}
	return false
}

// OverPlace tells whether the code speaks of the exchange: every other message to it ends in the same way.
func OverPlace(code uint16) bool { return code == CodeAccessRefused || code == CodeNotFound }
