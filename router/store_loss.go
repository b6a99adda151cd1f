package router

import (
	"fmt"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// storeLoss is what status says of a lane that an earlier store of this site had served: that store is lost, with what it had parked.
// An audit keeps it over restarts; it is committed with the journal that goes on after the loss.
type storeLoss struct {
	reason string
	at     time.Time // zero: nothing was lost
}

// lossShown is how long status says it. Chosen: whoever is on duty next sees it too, and nothing has to be typed to end it.
const lossShown = 24 * time.Hour

const lossFix = "have what was parked sent again by its senders, and see that the books of both sites balance: cloudqueue books; this is shown for 24 h"

// newStoreLoss describes the journal that goes on where the lost store's last receipt ends.
func newStoreLoss(m federation.Journal, now time.Time) storeLoss {
	parked := "it had parked nothing by its last receipt"
	if n := m.Counters.Parked; n > 0 {
		parked = fmt.Sprintf("what it had parked (%d by its last receipt) is lost, but for what was redriven or dropped", n)
	}
	return storeLoss{at: now, reason: fmt.Sprintf("an earlier store of this site is lost: the lane goes on after offset %d, flagged up to %d; %s",
		m.Done, m.Reserved, parked)}
}

// shownOn is the condition of a lane in a state: a loss is in sight while nothing worse is to be said.
func (s storeLoss) shownOn(state federation.PartState, now time.Time) federation.PartState {
	if s.at.IsZero() || state.State != federation.StateRunning || now.Sub(s.at) >= lossShown {
		return state
	}
	return federation.PartState{State: federation.StateDegraded, Reason: s.reason, Fix: lossFix, Since: s.at}
}

// lossAuthor stands in audits for the router's own word.
const lossAuthor = "router"

func (k inKey) lossPrefix() string { return fmt.Sprintf("lane %s → %s: ", k.lane, k.dest) }

func (s storeLoss) audit(key inKey) spool.AuditRecord {
	return spool.AuditRecord{Who: lossAuthor, What: key.lossPrefix() + s.reason, At: s.at}
}

// auditedLoss is the last one of a lane that the store knows of.
func (r *Router) auditedLoss(key inKey) (found storeLoss) {
	for _, a := range r.cfg.Spool.Audits() {
		if reason, ok := strings.CutPrefix(a.What, key.lossPrefix()); ok && a.Who == lossAuthor {
			found = storeLoss{reason, a.At}
		}
	}
	return found
}

// lost notes that an earlier store is lost. After a reseal there is no such loss: the admin gave the journal a new start, and the parking is here.
func (l *inLane) lost(m federation.Journal) {
	if l.r.wasResealed(l.key) {
		return
	}
	loss := newStoreLoss(m, time.Now())
	l.commits.lost = true
	l.mu.Lock()
	l.loss = loss
	l.mu.Unlock()
}

// wasResealed tells whether a reseal ended a journal of the lane (D8).
func (r *Router) wasResealed(key inKey) bool {
	for k, v := range r.cfg.Spool.MarksOf(federation.MarkJournal, key.lane) {
		if k.Dest == key.dest && len(v) == 0 {
			return true
		}
	}
	return false
}
