package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

// trouble is why a lane stands still at its destination, and what to type.
type trouble struct{ reason, fix string }

// say changes what status shows; Since moves only when the state does. Callers hold lane.mu.
func (s *sender) say(state federation.State, reason, fix string) {
	if s.state.State != state || s.state.Reason != reason {
		s.state = federation.PartState{State: state, Reason: reason, Fix: fix, Since: time.Now()}
	}
}

// sayRunning keeps what the destination contradicts or refuses in sight: the lane runs when it takes something. Callers hold lane.mu.
func (s *sender) sayRunning() { s.sayUnlessHeld(federation.StateRunning, "") }

// sayUnlessHeld is say for what is less than what holds the lane. Callers hold lane.mu.
func (s *sender) sayUnlessHeld(state federation.State, reason string) {
	for _, t := range []trouble{s.wrong, s.refusal} {
		if t.reason != "" {
			s.say(federation.StateHeld, t.reason, t.fix)
			return
		}
	}
	s.say(state, reason, "")
}

// sayDown points at the line of the link, which stands in the same status and says what to do. Callers hold lane.mu.
func (s *sender) sayDown() {
	s.say("waiting", fmt.Sprintf("no link to %s: see link %[1]s", s.dest.Site), "")
}

// sayAnnounced says what the lane waits for while the destination has not said where to go on; again: it was asked before. A refusal stays
// in sight until the destination says otherwise, and so does its question. Callers hold lane.mu.
func (s *sender) sayAnnounced(again bool) {
	switch {
	case s.state.State == federation.StateHeld, s.syncing:
	case again:
		s.say(federation.StateStarting, string(s.dest.Site)+" has not answered where to go on; it first finishes what earlier came from here, and its broker may be in the way",
			"see the lane at the destination: cloudqueue status")
	default:
		s.say(federation.StateStarting, "the lane is announced to the destination", "")
	}
}

// sayMissing says that the store has nothing at offsets that were assigned and are not receipted. Callers hold lane.mu.
func (s *sender) sayMissing(span federation.Span) {
	what := fmt.Sprintf("offset %d is not in the store", span.First)
	if span.Last > span.First {
		what = fmt.Sprintf("offsets %d to %d are not in the store", span.First, span.Last)
	}
	s.say(federation.StateHeld, what, "put the store's segment back from a backup, or abandon the offsets: "+voidOf(s.lane.lane, span, federation.VoidCorrupt))
}

// logHeld writes a line when the lane is held for another reason than before, and when it runs again. Run calls it: no lock is held.
func (s *sender) logHeld() {
	l := s.lane
	l.mu.Lock()
	now := s.state
	l.mu.Unlock()
	switch {
	case now.State == federation.StateHeld && now.Reason != s.logged:
		l.r.log.Warn("lane held", "lane", l.lane.String(), "peer", string(s.dest.Site), "reason", now.Reason, "fix", now.Fix)
		s.logged = now.Reason
	case now.State == federation.StateRunning && s.logged != "":
		l.r.log.Info("lane resumed", "lane", l.lane.String(), "peer", string(s.dest.Site))
		s.logged = ""
	}
}
