package router

import (
	"time"

	"cloudqueue/federation"
)

// restAfter is how long a lane whose route is gone is quiet before it is let go. Chosen: a queue that drains slowly wakes it
// no more than once a minute, for half a second each.
const restAfter = time.Minute

// rest tells when a lane that ends here may be let go: its route is gone, and everything that its origin had is done. It then takes
// no channel of the broker's and no goroutine, and does not count against MaxLanes, until its origin sends again. run alone uses it.
type rest struct {
	quietSince time.Time // zero: it is not quiet
	due        bool      // it is being closed, to rest
}

// restWhenDone begins to close the lane's journal, as a clean stop does, after restAfter.
func (l *inLane) restWhenDone(now time.Time) {
	switch {
	case l.rest.due:
	case !l.nothingToDo():
		l.rest.quietSince = time.Time{}
	case l.rest.quietSince.IsZero():
		l.rest.quietSince = now
	case now.Sub(l.rest.quietSince) >= restAfter:
		l.rest.due = true
		l.stopOnce.Do(func() { close(l.stopping) })
	}
}

func (l *inLane) nothingToDo() bool {
	if l.isBusy() || len(l.items) > 0 || l.channel.errand != nil || l.channel.busy != nil || !l.r.isGone(l.key.lane) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, waits := l.window.First()
	return !waits && len(l.toAnswer) == 0 && l.answer == nil && l.gen == l.opened.Mark.Generation && isDone(l.journal, l.opened)
}

// isDone tells whether a journal has everything that the origin had assigned when it opened the lane.
func isDone(j *federation.JournalState, f federation.LaneOpen) bool {
	return j != nil && j.Known() && j.Unfinished() == 0 && j.Durable().Done >= f.LastAssigned
}

// isGone tells whether the topology of now has no route of the lane to this site. Before there is a topology nothing is gone.
func (r *Router) isGone(lane federation.Lane) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isGoneLocked(lane)
}

func (r *Router) isGoneLocked(lane federation.Lane) bool {
	return r.current.Document != nil && !r.routed[lane]
}

// letGo forgets a lane that has left, and keeps what its origin said, for when it sends again.
func (r *Router) letGo(l *inLane) {
	l.mu.Lock()
	opened := l.opened
	l.mu.Unlock()
	r.mu.Lock()
	delete(r.in, l.key)
	r.resting[l.key] = opened
	r.mu.Unlock()
	r.owners.giveBack(l.channel.pub)
	r.log.Info("lane at rest", "lane", l.key.lane.String(), "dest", l.key.dest.String())
}

// answeredAtRest answers LANE_OPEN for a lane that needs nothing but this site's last word, from its durable journal.
func (r *Router) answeredAtRest(l Link, key inKey, f federation.LaneOpen) bool {
	if key.lane.Origin != l.Peer() || !r.isGone(key.lane) {
		return false
	}
	gen, journal, err := r.latestJournal(key)
	if err != nil || gen != f.Mark.Generation || !isDone(journal, f) {
		return false
	}
	r.mu.Lock()
	begun := r.in[key] != nil
	if !begun {
		r.resting[key] = f
	}
	r.mu.Unlock()
	if begun {
		return false
	}
	durable := journal.Durable()
	st := federation.DestState{Destination: key.dest, Store: r.identity.Store, Born: r.identity.Born, NextWanted: durable.Done + 1, Seal: durable.DoneSeal(), Window: uint32(r.cfg.WindowBytes)}
	rc, w := r.word(key, gen, durable, r.cfg.WindowBytes)
	r.reply(l, federation.LaneState{Lane: key.lane, KnownGeneration: gen, Destinations: []federation.DestState{st}}, rc, w)
	return true
}

// openFirst is open, unless the lane was opened since it began: a LANE_OPEN of a later link must not be undone.
func (l *inLane) openFirst(link Link, f federation.LaneOpen) {
	l.mu.Lock()
	if l.link == nil {
		l.openLocked(link, f)
	}
	l.mu.Unlock()
	l.poke()
}

// wake begins a lane at rest whose origin sends again; the copy that woke it comes once more, when its journal is read.
func (r *Router) wake(l Link, key inKey) (*inLane, federation.Verdict) {
	r.mu.Lock()
	opened, rests := r.resting[key]
	r.mu.Unlock()
	if !rests {
		return nil, federation.NoGrant
	}
	lane, v, _ := r.beginInLane(key)
	if lane != nil {
		lane.openFirst(l, opened)
	}
	return lane, v
}
