package localbroker

import (
	"log/slog"
	"sync"
	"time"

	"cloudqueue/federation"
)

// States that parts show.
const (
	stateRunning    = federation.StateRunning
	stateConnecting = federation.StateConnecting
	stateDown       = federation.StateDown
	stateWaiting    = federation.StateWaiting
	stateHeld       = federation.StateHeld
	stateUnsafe     = federation.StateUnsafe
	stateAlarm      = federation.StateAlarm
	statePaused     = federation.StatePaused
	stateClosed     = federation.StateClosed
)

// stateBox holds a part's state and logs its changes.
type stateBox struct {
	log *slog.Logger // names the part

	mu    sync.Mutex // guards state, which anyone may ask for
	state federation.PartState
}

func newStateBox(log *slog.Logger, state federation.State, reason string) *stateBox {
	return &stateBox{log: log, state: federation.PartState{State: state, Reason: reason, Since: time.Now()}}
}

func (b *stateBox) get() federation.PartState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

// set changes the state. Since stays when state and reason do.
func (b *stateBox) set(state federation.State, reason, fix string) {
	if !b.replace(state, reason, fix) {
		return
	}
	switch state {
	case stateHeld:
		b.log.Error("state", "state", state, "reason", reason, "fix", fix)
	case stateUnsafe, stateDown, stateAlarm:
		b.log.Warn("state", "state", state, "reason", reason, "fix", fix)
	default:
		b.log.Info("state", "state", state, "reason", reason)
	}
}

func (b *stateBox) replace(state federation.State, reason, fix string) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := federation.PartState{State: state, Reason: reason, Fix: fix, Since: b.state.Since}
	if b.state == next {
		return false
	}
	if b.state.State != state || b.state.Reason != reason {
		next.Since = time.Now()
	}
	b.state = next
	return true
}
