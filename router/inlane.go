package router

import (
	"sync"
	"time"

	"cloudqueue/federation"
)

// inKey names a lane that ends here, for one destination of this site.
type inKey struct {
	lane federation.Lane
	dest federation.Destination
}

// inLane is a lane that ends at this site: what was received and is not done, and the journal of what is.
//
// Links' goroutines put batches and questions in, run publishes and keeps the journal. What is above the line is guarded
// by mu; what is below belongs to run alone.
type inLane struct {
	r   *Router
	key inKey

	mu          sync.Mutex
	link        Link                // the link on which the origin opened the lane last
	opened      federation.LaneOpen // what it said
	originStore federation.StoreID
	answer      *federation.Sync // an answer of the origin that run has not looked at yet
	askedAt     time.Time        // when SYNC was asked
	gen         federation.Generation
	journal     *federation.JournalState // of gen; nil before it is read
	window      *federation.PositionWindow
	held        map[federation.Span]*arrival // what the window holds
	passed      []passedCopy                 // done, waiting for a durable journal to be answered
	decoded     int                          // raw bytes of the held batches that are decoded
	dropped     uint64                       // copies dropped by their offset
	state       federation.PartState
	last        time.Time     // when an offset last ended
	lag         time.Duration // how long ago that one was sealed, by both sites' clocks
	speed       speed         // of done
	ended       bool          // run has returned: nothing is taken any more

	wake     chan struct{} // capacity 1
	stopping chan struct{} // closed by stopCleanly
	stopped  chan struct{} // closed when run has returned
	stopOnce sync.Once
	// ----
	deliverer
}

// arrival is a batch that waits to be published or to be answered.
type arrival struct {
	batch   *federation.Batch
	side    federation.Sidecar
	at      time.Time
	answers []Answer
	entries []federation.Entry // opened when its turn comes
}

// passedCopy is what is left of a copy that done has passed.
type passedCopy struct {
	last    federation.Offset
	answers []Answer
}

func (c passedCopy) say(v federation.Verdict, retry time.Duration) {
	for _, answer := range c.answers {
		answer(v, retry)
	}
}

func (a *arrival) passed() passedCopy {
	return passedCopy{last: a.batch.Header.Last(), answers: a.answers}
}

func (l *inLane) poke() {
	select {
	case l.wake <- struct{}{}:
	default: // one poke is enough: run looks at everything
	}
}

// say changes what status shows; Since moves only when the state does.
func (l *inLane) say(state federation.State, reason, fix string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sayLocked(state, reason, fix)
}

// sayLocked is say for callers that hold mu.
func (l *inLane) sayLocked(state federation.State, reason, fix string) {
	if l.state.State == state && l.state.Reason == reason {
		return
	}
	was := l.state
	l.state = federation.PartState{State: state, Reason: reason, Fix: fix, Since: time.Now()}
	switch {
	case state == "held":
		l.r.log.Warn("lane held", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "reason", reason, "fix", fix)
	case was.State == "held":
		l.r.log.Info("lane resumed", "lane", l.key.lane.String(), "dest", l.key.dest.String())
	}
}

// windowRetry is how long the sender of a shed copy should wait without news; WINDOW frames come earlier.
const windowRetry = 500 * time.Millisecond

// receive decides on a copy at once: it is kept in the window, or answered. It never blocks.
func (l *inLane) receive(b *federation.Batch, side federation.Sidecar, answer Answer) {
	v, kept, shed := l.admit(b, side, answer)
	for _, c := range shed {
		c.say(federation.WindowShut, windowRetry)
	}
	if kept {
		l.poke()
		return
	}
	if v != federation.DupOK {
		l.r.refused.addVerdict("copy", v, about(l.key.lane, l.key.lane.Origin))
	}
	answer(v, windowRetry)
}

// admit keeps the copy, or says the verdict on it.
func (l *inLane) admit(b *federation.Batch, side federation.Sidecar, answer Answer) (v federation.Verdict, kept bool, shed []passedCopy) {
	h := &b.Header
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.journal == nil || !l.journal.Known() || h.Generation > l.gen {
		return federation.WindowShut, false, nil
	}
	if h.Generation < l.gen {
		return federation.Conflict, false, nil
	}
	switch l.journal.Judge(h.Span(), h.SealEpoch) {
	case federation.Conflict:
		return federation.Conflict, false, nil
	case federation.DupOK:
		l.dropped++
		switch {
		case h.Last() <= l.journal.DurableDone():
			return federation.DupOK, false, nil
		case len(l.passed) >= maxPassed:
			return federation.WindowShut, false, nil
		}
		l.passed = append(l.passed, passedCopy{h.Last(), []Answer{answer}})
		return federation.OK, true, nil
	}
	return l.offer(b, side, answer)
}

// offer takes the copy into the window if it is admissible. Callers hold mu.
func (l *inLane) offer(b *federation.Batch, side federation.Sidecar, answer Answer) (v federation.Verdict, kept bool, shed []passedCopy) {
	h := &b.Header
	admission, gone := l.window.Offer(h.Span(), len(b.Bytes()))
	switch admission {
	case federation.Admitted:
		l.held[h.Span()] = &arrival{batch: b, side: side, at: time.Now(), answers: []Answer{answer}}
		for _, span := range gone {
			shed = append(shed, l.held[span].passed())
			l.discard(l.held[span])
		}
		return federation.OK, true, shed
	case federation.Held:
		a := l.held[h.Span()]
		if a.batch.Header.Digest != h.Digest {
			return federation.Conflict, false, nil
		}
		l.dropped++
		if len(a.answers) >= maxAnswers {
			return federation.WindowShut, false, nil
		}
		a.answers = append(a.answers, answer)
		return federation.OK, true, nil
	}
	return federation.WindowShut, false, nil
}

// Bounds of what copies of one batch may leave here.
const (
	// maxAnswers of one held batch: it comes again with each repair and each new link.
	maxAnswers = 4
	// maxPassed is how many copies wait for the journal's commit (chosen: a window of the smallest batches, 4 MiB of 250 bytes).
	maxPassed = 1 << 14
)

// holding gives the arrival that holds an offset. Callers hold mu.
func (l *inLane) holding(n federation.Offset) *arrival {
	if a := l.turn; a != nil && a.batch.Header.First <= n && n <= a.batch.Header.Last() {
		return a
	}
	span, ok := l.window.At(n)
	if !ok {
		return nil
	}
	l.turn = l.held[span]
	return l.turn
}

// release moves what done has passed out of the window. Callers hold mu.
func (l *inLane) release() {
	done := l.journal.Done()
	for span, ok := l.window.First(); ok && span.Last <= done; span, ok = l.window.First() {
		a := l.held[span]
		l.discard(a)
		l.passed = append(l.passed, a.passed())
	}
	l.window.Advance(done + 1)
}

// passesBatch tells whether done has passed the window's first batch. Callers hold mu.
func (l *inLane) passesBatch() bool {
	first, ok := l.window.First()
	return ok && first.Last <= l.journal.Done()
}

// forget lets go of an arrival's bytes. Callers hold mu.
func (l *inLane) forget(a *arrival) {
	delete(l.held, a.batch.Header.Span())
	if a.entries != nil {
		l.decoded -= int(a.batch.Header.RawLength)
	}
	if l.turn == a {
		l.turn = nil
	}
}

// shed takes everything out of the window, to be answered WINDOW. Callers hold mu.
func (l *inLane) shed() []passedCopy {
	all := l.passed
	for _, a := range l.held {
		all = append(all, a.passed())
		l.forget(a)
	}
	l.passed = nil
	return all
}

// leave gives back what waits when run returns: the peer's drain would wait for the answers.
func (l *inLane) leave() {
	l.mu.Lock()
	l.ended = true
	shed := l.shed()
	l.mu.Unlock()
	for _, c := range shed {
		c.say(federation.WindowShut, windowRetry)
	}
	close(l.stopped)
}

// discard takes an arrival out of the window. Callers hold mu.
func (l *inLane) discard(a *arrival) {
	l.window.Drop(a.batch.Header.Span())
	l.forget(a)
}

// laneState is this destination's word on where to go on. Callers hold mu.
func (l *inLane) laneState() federation.LaneState {
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
	known := l.journal != nil && l.journal.Known()
	var rc federation.Receipt
	var w federation.Window
	if known {
		durable := l.journal.Durable()
		rc = durable.Receipt(l.key.lane, l.gen, l.key.dest)
		rc.Store, rc.Born, rc.Epoch = l.r.identity.Store, l.r.identity.Born, l.r.identity.Epoch
		w = federation.Window{Lane: l.key.lane, Generation: l.gen, Destination: l.key.dest, Next: durable.Done + 1, Bytes: uint32(l.window.Bytes())}
		known = durable.Join > 0
	}
	l.mu.Unlock()
	if link != nil && known {
		l.r.reply(link, rc, w)
	}
}
