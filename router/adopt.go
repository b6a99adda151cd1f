package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

// adoptIfAnswered asks the origin about a generation without a journal, or about a gap that lasts, and takes its answer
// (6.3).
func (l *inLane) adoptIfAnswered() {
	l.mu.Lock()
	answer := l.answer
	l.answer = nil
	l.mu.Unlock()
	if answer != nil {
		l.adopt(*answer)
	}
	if req, link := l.question(); link != nil {
		l.r.reply(link, req)
	}
}

// question is the SYNC_REQ to send now; the link is nil for none.
func (l *inLane) question() (federation.SyncReq, Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	want := l.opened.Mark.Generation
	now := time.Now()
	asks := !l.journal.Known() || l.gen < want || l.gapLocked(now)
	if l.link == nil || want == 0 || !asks || now.Sub(l.askedAt) < reopenAfter {
		return federation.SyncReq{}, nil
	}
	l.askedAt = now
	return federation.SyncReq{Nonce: uint64(now.UnixNano()), Lane: l.key.lane, Generation: want, Destination: l.key.dest,
		Store: l.r.identity.Store, Born: l.r.identity.Born, ToOrigin: true}, l.link
}

// gapLocked tells whether the lowest batch here waits for one below it that has not come for long: it may have been voided.
func (l *inLane) gapLocked(now time.Time) bool {
	first, ok := l.window.First()
	return ok && first.First > l.journal.Next() && now.Sub(l.held[first].at) > reopenAfter
}

// adopt takes the origin's answer. The journal that it begins or moves is durable before anything is published under it
// and before the origin is told to go on: JournalState.Take and tell see to that.
func (l *inLane) adopt(a federation.Sync) {
	if a.Verdict != federation.OK {
		l.hold(fmt.Sprintf("%s answers %s: %s", l.key.lane.Origin, a.Verdict, a.Text), syncFix(a.Verdict))
		return
	}
	known := l.isKnown()
	switch {
	case known && l.gen > a.Generation: // of an earlier one
		return
	case known && l.gen < a.Generation && l.isBusy():
		l.adoptLater(a) // the later generation begins only when nothing of the earlier one is unconfirmed
		return
	case !known || l.gen < a.Generation:
		l.clear(a.Generation)
	}
	l.adoptNow(a)
}

// adoptNow takes an answer about the present generation.
func (l *inLane) adoptNow(a federation.Sync) {
	l.mu.Lock()
	result := l.journal.Adopt(a)
	l.releaseLocked() // what it passed
	mark := l.journal.Mark()
	l.mu.Unlock()
	if result == federation.AdoptLater {
		l.adoptLater(a)
		return
	}
	l.adopted(result, mark)
}

// adoptLater has an answer adopted again when something ended, unless a later one has come.
func (l *inLane) adoptLater(a federation.Sync) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answer == nil {
		l.answer = &a
	}
}

// syncFix is what helps against a refused SYNC. Only a store that is older than another of this site needs an identity of its own.
func syncFix(v federation.Verdict) string {
	if v == federation.Fenced {
		return "mount the newer store, or give this one a new id, with its router stopped: " + newIDCommand
	}
	return copyFix(v)
}

func (l *inLane) adopted(result federation.Adoption, mark federation.Journal) {
	log := l.r.log.With("lane", l.key.lane.String(), "dest", l.key.dest.String(), "done", uint64(mark.Done), "reserved", uint64(mark.Reserved))
	switch result {
	case federation.AdoptedFresh:
		log.Info("journal begun")
	case federation.AdoptedLoss:
		log.Warn("journal rebuilt from the origin: an earlier store of this site is lost, with what it had parked")
		l.lost(mark)
	case federation.AdoptedGap:
		log.Warn("offsets passed: the origin abandoned them, or this site was no member")
	case federation.AdoptRefused:
		l.hold("the origin's answer to SYNC contradicts itself", "see the origin's books: cloudqueue books")
		return
	}
	l.say(federation.StateRunning, "", "")
}

// clear begins a generation without a journal; what waits of an earlier one is given back.
func (l *inLane) clear(gen federation.Generation) {
	l.mu.Lock()
	shed := l.shedLocked()
	l.gen, l.journal = gen, federation.NewJournalState(l.r.unfinished())
	l.window.Reset(1)
	l.mu.Unlock()
	clear(l.items)
	l.search.giveUp()
	giveBack(shed)
}
