package wan

import (
	"time"

	"cloudqueue/federation"
)

// State is what a link is doing.
type State string

// States of a link.
const (
	StateStarting State = "starting" // not up yet since the router or the peer's entry started
	StateRunning  State = "running"
	StateStalled  State = "stalled" // up, backlog, no progress
	StateDraining State = "draining"
	StateDown     State = "down" // was up, or was refused; NextRetry tells when we dial again
)

// LinkStatus is one link for `status`.
type LinkStatus struct {
	Peer        federation.SiteID
	State       State
	Reason      string // why, for people; empty when running
	Fix         string // what to type or to change; empty when nothing helps but time
	Since       time.Time
	NextRetry   time.Time // zero when we do not dial
	RTT         time.Duration
	Connections []ConnectionStatus
	Sent        Traffic
	Received    Traffic
	Queued      uint64            // bytes that wait in memory to be written
	Unanswered  uint64            // frames written and not answered
	Verdicts    map[string]uint64 // the peer's answers, by verdict, since the start
	Refused     map[string]uint64 // what we refused of this peer, by reason, since the start
	Hello       federation.Hello  // the peer's latest
}

// ConnectionStatus is one QUIC connection of a link.
type ConnectionStatus struct {
	Index       uint8
	Remote      string
	Since       time.Time
	RTT         time.Duration
	PacketsSent uint64
	PacketsLost uint64
}

// Traffic counts what went one way since the start.
type Traffic struct {
	Frames uint64 // copies
	Bytes  uint64 // of copies, with their heads
}
