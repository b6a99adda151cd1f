package router

import (
	"errors"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// StoreTrouble says why nothing becomes durable in an unwell store, and what helps. A disk without space is not a broken one.
func StoreTrouble(place string, h spool.Health) (reason, fix string) {
	switch {
	case errors.Is(h.Err, spool.ErrNoSpace):
		return "the disk of " + place + " has no space left, nor is anything set aside: nothing becomes durable (" + h.Err.Error() + ")", (&spool.DiskFullError{Place: place}).Fix()
	case h.Err != nil:
		return "the store does not answer: " + h.Err.Error(), "repair the store in " + place + "; the messages wait in the broker"
	case !h.Writing.IsZero():
		return "the store does not answer: a write waits for it since " + h.Writing.UTC().Format("15:04:05") + " UTC", "look at the disk of " + place + "; the messages wait in the broker"
	}
	return "the store does not answer", "look at the disk of " + place
}

// FullStore says why a store refuses batches or parked messages, and what helps: no quota makes a disk larger. err is as the spool gave it.
func FullStore(err error) (reason, fix string) {
	var disk *spool.DiskFullError
	switch {
	case errors.As(err, &disk):
		return disk.Error(), disk.Fix()
	case errors.Is(err, spool.ErrLaneFull):
		return err.Error(), "let the destination that is behind catch up, abandon it (" + detachCommand + "), or raise store.lane-quota; other lanes go on"
	}
	reason = err.Error()
	if err == spool.ErrFull { // not the parking
		reason = "the quota is used up but for the reserve"
	}
	return reason, "raise store.quota, empty the parking (cloudqueue parking list), or let the peers catch up"
}

// storeState is held while the store is unwell: no journal becomes durable, so no lane ends anything. Zero: it is well.
func (r *Router) storeState() federation.PartState {
	h := r.cfg.Spool.Health()
	if h.Condition != spool.Unwell {
		return federation.PartState{}
	}
	reason, fix := StoreTrouble(r.cfg.Spool.Place(), h)
	return federation.PartState{State: federation.StateHeld, Reason: reason, Fix: fix, Since: h.Since}
}

// overStore is a lane's state while the store is in one: what holds the lane itself is said first.
func overStore(state, store federation.PartState) federation.PartState {
	if store.State == "" || state.State == federation.StateHeld {
		return state
	}
	return store
}

// parksHeld says that messages cannot be parked, until they are: what is delivered beside them does not end that.
func (l *inLane) parksHeld(err error) {
	reason, fix := FullStore(err)
	why := trouble{"messages cannot be parked: " + reason, fix}
	l.mu.Lock()
	l.parkTrouble = why
	l.mu.Unlock()
	l.hold(why.reason, why.fix)
}

// parksTaken ends that.
func (l *inLane) parksTaken() {
	l.mu.Lock()
	held := l.parkTrouble.reason != ""
	l.parkTrouble = trouble{}
	l.mu.Unlock()
	if held {
		l.say(federation.StateRunning, "", "")
	}
}
