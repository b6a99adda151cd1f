package check

// Outcome is what a publisher knows of one publish.
type Outcome uint8

// Outcomes of a publish.
const (
	Unknown   Outcome = iota // no answer came: the message may be in the queue
	Confirmed                // the broker has it
	Returned                 // the broker gave it back as unroutable: it cannot appear
)

// Published is one publish. The slice of a lane is in order of publishing: index i+1 stands at i.
type Published struct {
	Outcome Outcome
	RetryOf uint64 // index of the publish of unknown outcome that this one repeats; 0 for none
}

// Appearance is one message in a queue of a destination.
type Appearance struct {
	Lane        string // as the body says
	Index       uint64 // as the body says; 0 if the body is none of a publisher's
	Intact      bool   // the body is byte for byte what was published
	Flagged     bool   // x-cq-duplicate
	Redelivered bool   // the broker says that it handed this message out before
	ID          ID     // x-cq-id; zero if there is none
}

// History is what happened to one lane at one queue.
type History struct {
	Lane      string
	Queue     string // for people: site and queue
	Published []Published
	Appeared  []Appearance // in the order of the queue
	// Routed says that routers stand between publisher and queue: every appearance must carry its identity.
	Routed bool
	// Consumed says that the appearances come from a consumer whose connections may have ended: what the broker says that it
	// handed out before is then the same message of the queue. Where a queue was read once, it is a second message.
	Consumed bool
	// Accounted names the indexes that rightly do not appear, with the reason: parked, expired, excluded, voided. It
	// comes from what the scenario did to these messages, not from a router.
	Accounted map[uint64]string
}
