package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
)

func newInLane(r *Router, key inKey) *inLane {
	l := &inLane{r: r, key: key, held: map[federation.Span]*arrival{}, window: federation.NewPositionWindow(1, r.cfg.WindowBytes),
		wake: make(chan struct{}, 1), stopping: make(chan struct{}), stopped: make(chan struct{}),
		deliverer: deliverer{outcomes: make(chan published, r.cfg.PublishWindow), items: map[federation.Offset]*item{}}}
	l.state = federation.PartState{State: "waiting", Reason: "the owner locks of this site are not held yet", Since: time.Now()}
	return l
}

// load reads the journal of the lane's latest generation, if there is one.
func (l *inLane) load() error {
	coder, err := federation.NewCoder()
	if err != nil {
		return err
	}
	l.coder = coder
	gen, journal, err := l.r.latestJournal(l.key)
	if err != nil {
		return err
	}
	if journal == nil {
		l.say("waiting", "the origin has not opened the lane yet", "")
	} else {
		l.say("running", "", "")
	}
	l.use(gen, journal)
	return nil
}

// latestJournal restores what is durable; nil when there is none. A PARK found above done counts: passed, never published (6.1).
func (r *Router) latestJournal(key inKey) (federation.Generation, *federation.JournalState, error) {
	var gen federation.Generation
	var value []byte
	for k, v := range r.cfg.Spool.Marks(federation.MarkJournal) {
		if k.Lane == key.lane && k.Dest == key.dest && k.Generation >= gen && len(v) > 0 { // empty: given up by a reseal
			gen, value = k.Generation, v
		}
	}
	if value == nil {
		return 0, nil, nil
	}
	m, err := federation.ParseJournal(value)
	if err != nil {
		return 0, nil, fmt.Errorf("journal of %s: %w", key.lane, err)
	}
	j, err := federation.RestoreJournal(m, r.parkedAt(key, gen), r.unfinished())
	return gen, j, err
}

func (r *Router) parkedAt(key inKey, gen federation.Generation) []federation.Offset {
	var out []federation.Offset
	for _, p := range r.cfg.Spool.Parked() {
		if p.ID.Lane == key.lane && p.ID.Generation == gen && p.ID.Destination == key.dest {
			out = append(out, p.ID.Offset)
		}
	}
	return out
}

// unfinished bounds the offsets between done and the last one taken: twice what may be unconfirmed, so that one that is
// late does not stop the others at once.
func (r *Router) unfinished() int { return 2 * r.cfg.PublishWindow }

// use begins to work with a journal (nil: none yet) and answers a LANE_OPEN that waits.
func (l *inLane) use(gen federation.Generation, j *federation.JournalState) {
	if j == nil {
		j = federation.NewJournalState(l.r.unfinished())
	}
	l.mu.Lock()
	l.gen, l.journal = gen, j
	l.window.Reset(j.Next())
	link, opened := l.link, l.opened
	l.mu.Unlock()
	if link != nil {
		l.open(link, opened)
	}
}

// open takes a LANE_OPEN: it answers where to go on, or has run ask the origin what this lane is (SYNC).
func (l *inLane) open(link Link, f federation.LaneOpen) {
	l.mu.Lock()
	l.link, l.opened, l.originStore, l.askedAt = link, f, link.Hello().Store, time.Time{}
	st, gen := l.laneState(), l.gen
	l.mu.Unlock()
	if st.KnownGeneration != 0 && f.Mark.Generation < gen {
		st.Verdict, st.Text = federation.Conflict, fmt.Sprintf("generation %d is older than %d, which this site has", f.Mark.Generation, gen)
	}
	l.r.reply(link, st)
	l.poke()
}

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
	asks := !l.journal.Known() || l.gen < want || l.gapAt(now)
	if l.link == nil || want == 0 || !asks || now.Sub(l.askedAt) < reopenAfter {
		return federation.SyncReq{}, nil
	}
	l.askedAt = now
	return federation.SyncReq{Nonce: uint64(now.UnixNano()), Lane: l.key.lane, Generation: want, Destination: l.key.dest,
		Store: l.r.identity.Store, Born: l.r.identity.Born, ToOrigin: true}, l.link
}

// gapAt tells whether the lowest batch here waits for one below it that has not come for long: it may have been voided. Callers hold mu.
func (l *inLane) gapAt(now time.Time) bool {
	first, ok := l.window.First()
	return ok && first.First > l.journal.Next() && now.Sub(l.held[first].at) > reopenAfter
}

// adopt takes the origin's answer. The journal that it begins or moves is durable before anything is published under it
// and before the origin is told to go on: JournalState.Take and tell see to that.
func (l *inLane) adopt(a federation.Sync) {
	if a.Verdict != federation.OK {
		l.say("held", fmt.Sprintf("%s answers %s: %s", l.key.lane.Origin, a.Verdict, a.Text), syncFix(a.Verdict))
		return
	}
	l.mu.Lock()
	next := l.journal.Known() && l.gen < a.Generation
	busy := l.unconfirmed > 0 || l.commit != nil || len(l.parks) > 0
	old := l.journal.Known() && l.gen > a.Generation
	l.mu.Unlock()
	if old {
		return
	}
	if next && busy { // the later generation begins only when nothing of the earlier one is unconfirmed
		l.keepAnswer(a)
		return
	}
	if next || !l.isKnown() {
		l.clear(a.Generation)
	}
	l.mu.Lock()
	result := l.journal.Adopt(a)
	l.release() // what it passed
	done, reserved := l.journal.Mark().Done, l.journal.Mark().Reserved
	l.mu.Unlock()
	if result == federation.AdoptLater {
		l.keepAnswer(a)
		return
	}
	l.adopted(result, done, reserved)
}

// keepAnswer has an answer adopted again when something ended, unless a later one has come.
func (l *inLane) keepAnswer(a federation.Sync) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answer == nil {
		l.answer = &a
	}
}

// syncFix is what helps against a refused SYNC. Only a store that is older than another of this site needs an identity of its own.
func syncFix(v federation.Verdict) string {
	if v == federation.Fenced {
		return "mount the newer store, or make this one a new one: cloudqueue spool new-id"
	}
	return verdictFix(v)
}

func (l *inLane) adopted(result federation.Adoption, done, reserved federation.Offset) {
	log := l.r.log.With("lane", l.key.lane.String(), "dest", l.key.dest.String(), "done", uint64(done), "reserved", uint64(reserved))
	switch result {
	case federation.AdoptedFresh:
		log.Info("journal begun")
	case federation.AdoptedLoss:
		log.Warn("journal rebuilt from the origin: an earlier store of this site is lost, with what it had parked")
	case federation.AdoptedGap:
		log.Warn("offsets passed: the origin gave them up, or this site was no member")
	case federation.AdoptRefused:
		l.say("held", "the origin's answer to SYNC contradicts itself", "see the origin's books: cloudqueue books")
		return
	}
	l.say("running", "", "")
}

// clear begins a generation without a journal; what waits of an earlier one is given back.
func (l *inLane) clear(gen federation.Generation) {
	l.mu.Lock()
	shed := l.shed()
	l.gen, l.journal, l.probe = gen, federation.NewJournalState(l.r.unfinished()), 0
	clear(l.items)
	l.window.Reset(1)
	l.mu.Unlock()
	for _, c := range shed {
		c.say(federation.WindowShut, windowRetry)
	}
}
