package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

// open takes a LANE_OPEN: it answers where to go on, or has run ask the origin what this lane is (SYNC).
func (l *inLane) open(link Link, f federation.LaneOpen) {
	l.mu.Lock()
	l.link, l.opened, l.originStore, l.askedAt = link, f, link.Hello().Store, time.Time{}
	st, gen := l.laneStateLocked(), l.gen
	l.mu.Unlock()
	if st.KnownGeneration != 0 && f.Mark.Generation < gen {
		st.Verdict, st.Text = federation.Conflict, fmt.Sprintf("generation %d is older than %d, which this site has", f.Mark.Generation, gen)
	}
	l.r.reply(link, st)
	l.poke()
}

// laneStateLocked is this destination's word on where to go on.
func (l *inLane) laneStateLocked() federation.LaneState {
	st := federation.LaneState{Lane: l.key.lane}
	d := federation.DestState{Destination: l.key.dest, Store: l.r.identity.Store, Born: l.r.identity.Born}
	if l.journal != nil && l.journal.Known() {
		st.KnownGeneration = l.gen
		d.NextWanted, d.Window = l.journal.Durable().Done+1, uint32(l.window.Bytes())
	}
	st.Destinations = []federation.DestState{d}
	return st
}

// tell sends the durable word to the origin: RECEIPT, then WINDOW.
func (l *inLane) tell() {
	l.mu.Lock()
	link := l.link
	rc, w, known := l.wordLocked()
	l.mu.Unlock()
	if link != nil && known {
		l.r.reply(link, rc, w)
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
