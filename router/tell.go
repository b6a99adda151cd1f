package router

import (
	"fmt"
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

// answerOpenLocked says where to go on. It is queued with mu held: a later RECEIPT does not overtake it.
func (l *inLane) answerOpenLocked() {
	st := l.laneStateLocked()
	if st.KnownGeneration != 0 && l.opened.Mark.Generation < l.gen {
		st.Verdict, st.Text = federation.Conflict, fmt.Sprintf("generation %d is older than %d, which this site has", l.opened.Mark.Generation, l.gen)
	}
	l.contradictLocked(st.KnownGeneration)
	l.r.reply(l.link, st)
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
