package router

import (
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// open takes a LANE_OPEN: it answers where to go on, or has run ask the origin what this lane is (SYNC).
func (l *inLane) open(link Link, f federation.LaneOpen) {
	l.mu.Lock()
	l.openLocked(link, f)
	l.mu.Unlock()
	l.poke()
}

func (l *inLane) openLocked(link Link, f federation.LaneOpen) {
	hello := link.Hello()
	another := hello.Boot != l.boot
	if another && l.journal != nil { // the earlier process may be of another branch of the lane
		l.answer = nil
		l.journal.ForgetVoids()
	}
	l.link, l.opened, l.originStore, l.boot, l.askedAt = link, f, hello.Store, hello.Boot, time.Time{}
	l.settling = l.settling || another && l.unsettledLocked()
	if !l.settling {
		l.answerOpenLocked()
	}
}

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

// answerOpenLocked says where to go on. It is queued with mu held: a later RECEIPT does not overtake it.
func (l *inLane) answerOpenLocked() {
	st := l.laneStateLocked()
	if st.KnownGeneration != 0 && l.opened.Mark.Generation < l.gen {
		st.Verdict, st.Text = federation.Conflict, fmt.Sprintf("generation %d is older than %d, which this site has", l.opened.Mark.Generation, l.gen)
	}
	l.contradictLocked(st.KnownGeneration)
	l.r.reply(l.link, st)
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
		l.r.log.Warn("lane held", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "reason", found.reason, "fix", found.fix)
	}
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

// laneStateLocked is this destination's word on where to go on.
func (l *inLane) laneStateLocked() federation.LaneState {
	st := federation.LaneState{Lane: l.key.lane}
	d := federation.DestState{Destination: l.key.dest, Store: l.r.identity.Store, Born: l.r.identity.Born}
	if l.journal != nil && l.journal.Durable().Join > 0 { // when it becomes durable, WINDOW follows
		st.KnownGeneration = l.gen
		durable := l.journal.Durable()
		d.NextWanted, d.Seal, d.Window = durable.Done+1, durable.DoneSeal(), uint32(l.window.Bytes())
	}
	st.Destinations = []federation.DestState{d}
	return st
}

// tell sends the durable word to the origin: RECEIPT, then WINDOW.
func (l *inLane) tell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if rc, w, known := l.wordLocked(); l.link != nil && known {
		l.r.reply(l.link, rc, w)
	}
}

// wordLocked is what the durable journal says; false while there is none.
func (l *inLane) wordLocked() (federation.Receipt, federation.Window, bool) {
	if l.journal == nil || !l.journal.Known() {
		return federation.Receipt{}, federation.Window{}, false
	}
	durable := l.journal.Durable()
	rc, w := l.r.word(l.key, l.gen, durable, l.window.Bytes())
	return rc, w, durable.Join > 0
}

// word is what a durable journal says to the origin, with how many bytes may be ahead of it.
func (r *Router) word(key inKey, gen federation.Generation, durable federation.Journal, bytes int) (federation.Receipt, federation.Window) {
	rc := durable.Receipt(key.lane, gen, key.dest)
	rc.Store, rc.Born, rc.Epoch = r.identity.Store, r.identity.Born, r.identity.Epoch
	return rc, federation.Window{Lane: key.lane, Generation: gen, Destination: key.dest, Next: durable.Done + 1, Bytes: uint32(bytes)}
}
