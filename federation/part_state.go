package federation

import "time"

// State tells in one word how a part of the router is. The words stand in status and in its JSON.
type State string

// States of parts. Those for which Healthy is true need nobody.
const (
	StateRunning    State = "running"    // does its work, or has none
	StateStarting   State = "starting"   // has not yet worked since the router began
	StateConnecting State = "connecting" // a connection that is being made
	StateWaiting    State = "waiting"    // for another part, named in the reason; heals with it
	StatePaused     State = "paused"     // told to take nothing for a while
	StateDraining   State = "draining"   // finishes what it has and takes nothing more
	StateClosed     State = "closed"     // ended as it was told to: a lane whose route was removed, with nothing left
	StateDegraded   State = "degraded"   // does its work without something that it should have; heals with it
	StateStalled    State = "stalled"    // connected, with work, and without progress
	StateHeld       State = "held"       // stopped on purpose so that nothing gets lost, until the reason is gone
	StateAlarm      State = "alarm"      // the broker takes nothing
	StateFull       State = "full"       // a quota or the disk is full: takes nothing, still drains
	StateUnsafe     State = "unsafe"     // works, but a precondition of a guarantee is broken
	StateUnwell     State = "unwell"     // the store does not take commits
	StateDown       State = "down"       // not connected; the next attempt comes by itself
	StateFenced     State = "fenced"     // refused: another life of this store has been seen
	StateCorrupt    State = "corrupt"    // bytes are not what was written; not served
)

// Healthy tells whether the state needs nobody's attention; a start that lasts does (router/admin, Condition.NeedsAttention).
func (s State) Healthy() bool {
	switch s {
	case StateRunning, StateStarting, StateDraining, StateClosed:
		return true
	}
	return false
}

// PartState is what a part of the router says of itself to `status`.
type PartState struct {
	State  State
	Reason string // why, for people; empty when running
	Fix    string // what to type or to change; empty when nothing helps but time
	Since  time.Time
}
