package router

import (
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// A destination keeps what it did of two branches of a lane apart: it finishes what came of one process of the origin before it answers
// another, and holds the lane when what the origin says of itself and the journal cannot both be.

// unsettledLocked tells whether something is held, or on its way to the broker or into the journal.
func (l *inLane) unsettledLocked() bool {
	_, holds := l.window.First()
	return l.journal != nil && (holds || l.journal.Unfinished() > 0 || l.journal.Changed())
}

// settle answers the LANE_OPEN of another process of the origin when nothing that an earlier one sent is unfinished; what is only held is
// given back. The two may be of different branches of the lane, if the origin's store was put back: what this site has done must be
// compared with what the new one has before anything of that counts (federation, branch.go).
func (l *inLane) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.settling || l.journal.Unfinished() > 0 || l.journal.Changed() {
		return
	}
	shed := l.shedLocked()
	l.window.Reset(l.journal.Done() + 1)
	l.settling = false
	l.answerOpenLocked()
	l.r.start(func() { giveBack(shed) })
}

// contradicted is what status shows of a lane as long as it has done just so much.
type contradicted struct {
	done  federation.Offset
	state federation.PartState
}

// contradictLocked has status show what the origin says and cannot be.
func (l *inLane) contradictLocked(known federation.Generation) {
	if known != l.opened.Mark.Generation {
		l.wrong = contradicted{}
		return
	}
	durable := l.journal.Durable()
	found := contradiction(l.key, durable, l.opened)
	switch {
	case found.reason == "" && l.wrong.done != durable.Done:
		l.wrong = contradicted{}
	case found.reason == "", found.reason == l.wrong.state.Reason: // until something is done it lasts: an origin that was put back numbers on
	default:
		l.wrong = contradicted{durable.Done, federation.PartState{State: federation.StateHeld, Reason: found.reason, Fix: found.fix, Since: time.Now()}}
	}
}

// logContradiction writes a line for a contradiction that was not there before. Run calls it: no lock is held.
func (l *inLane) logContradiction() {
	l.mu.Lock()
	now := l.wrong.state
	l.mu.Unlock()
	if now.Reason != "" && now.Reason != l.loggedWrong {
		l.r.log.Warn("lane held", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "reason", now.Reason, "fix", now.Fix)
	}
	l.loggedWrong = now.Reason
}

// contradiction is what this site and the origin say of one generation that cannot both be: one of their stores was put back to an older
// state. The origin holds the lane for it too.
func contradiction(key inKey, durable federation.Journal, f federation.LaneOpen) trouble {
	i := slices.IndexFunc(f.Mark.Members, func(m federation.Membership) bool { return m.Destination == key.dest && m.Leave == 0 })
	switch {
	case durable.Done > f.LastAssigned:
		return trouble{fmt.Sprintf("%d offsets are done here, more than %s had assigned", durable.Done, key.lane.Origin), originResealFix}
	case i >= 0 && durable.Done+1 < f.FirstRetained && f.Mark.Members[i].Join <= durable.Done+1:
		return trouble{fmt.Sprintf("%d offsets are done here, and this site has receipted %d", durable.Done, f.FirstRetained-1), resealFix}
	}
	return trouble{}
}
