package router

import (
	"fmt"

	"cloudqueue/federation"
)

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
		l.say(federation.StateWaiting, "the origin has not opened the lane yet", "")
	} else {
		l.say(federation.StateRunning, "", "")
	}
	l.mu.Lock()
	l.loss = l.r.auditedLoss(l.key)
	l.mu.Unlock()
	l.use(gen, journal)
	return nil
}

// latestJournal restores what is durable; nil when there is none. A PARK found above done counts: passed, never published (6.1).
func (r *Router) latestJournal(key inKey) (federation.Generation, *federation.JournalState, error) {
	var gen federation.Generation
	var value []byte
	for k, v := range r.cfg.Spool.MarksOf(federation.MarkJournal, key.lane) {
		if k.Dest == key.dest && k.Generation >= gen && len(v) > 0 { // empty: given up by a reseal
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

// hasJournal tells whether the lane was granted at some time: what is sealed drains.
func (r *Router) hasJournal(key inKey) bool {
	for k, v := range r.cfg.Spool.MarksOf(federation.MarkJournal, key.lane) {
		if k.Dest == key.dest && len(v) > 0 {
			return true
		}
	}
	return false
}

func (r *Router) parkedAt(key inKey, gen federation.Generation) []federation.Offset {
	var out []federation.Offset
	for _, p := range r.cfg.Spool.ParkedOf(key.lane) {
		if p.ID.Generation == gen && p.ID.Destination == key.dest {
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
	defer l.mu.Unlock()
	l.gen, l.journal = gen, j
	l.window.Reset(j.Next())
	if l.link != nil { // at once: a LANE_OPEN of a later link must not be undone
		l.openLocked(l.link, l.opened)
	}
}
