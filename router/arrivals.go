package router

import (
	"time"

	"cloudqueue/federation"
)

// arrival is a batch that waits to be published or to be answered.
type arrival struct {
	batch   *federation.Batch
	side    federation.Sidecar
	at      time.Time
	answers []Answer
	entries []federation.Entry // opened when its turn comes
}

// unanswered is what is left of a copy of which only the answer is owed.
type unanswered struct {
	last    federation.Offset
	answers []Answer
}

func (c unanswered) say(v federation.Verdict, retry time.Duration) {
	for _, answer := range c.answers {
		answer(v, retry)
	}
}

func (a *arrival) unanswered() unanswered {
	return unanswered{last: a.batch.Header.Last(), answers: a.answers}
}

// giveBack answers copies that are not taken: they come again.
func giveBack(shed []unanswered) {
	for _, c := range shed {
		c.say(federation.WindowShut, windowRetry)
	}
}

const (
	// windowRetry is how long the sender of a shed copy should wait without news; WINDOW frames come earlier.
	windowRetry = 500 * time.Millisecond
	// maxAnswers of one held batch: it comes again with each repair and each new link.
	maxAnswers = 4
	// maxToAnswer is how many copies wait for the journal's commit (chosen: a window of the smallest batches, 4 MiB of 250 bytes).
	maxToAnswer = 1 << 14
)

// receive decides on a copy at once: it is kept in the window, or answered. It never blocks.
func (l *inLane) receive(link Link, b *federation.Batch, side federation.Sidecar, answer Answer) {
	v, kept, shed := l.admit(link, b, side, answer)
	giveBack(shed)
	if kept {
		l.poke()
		return
	}
	if v != federation.DupOK {
		l.r.refused.addVerdict("copy", v, about(l.key.lane, l.key.lane.Origin))
	}
	answer(v, windowRetry)
}

// admit keeps the copy, or says the verdict on it. Only the link on which the lane was opened last brings any: what another one still holds
// may be of an earlier process.
func (l *inLane) admit(link Link, b *federation.Batch, side federation.Sidecar, answer Answer) (v federation.Verdict, kept bool, shed []unanswered) {
	h := &b.Header
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.settling || l.link != link || l.journal == nil || !l.journal.Known() || h.Generation > l.gen {
		return federation.WindowShut, false, nil
	}
	if h.Generation < l.gen {
		return federation.Conflict, false, nil
	}
	switch l.journal.Judge(h.Span(), h.SealEpoch) {
	case federation.Conflict:
		return federation.Conflict, false, nil
	case federation.DupOK:
		v, kept = l.repeatedLocked(h.Last(), answer)
		return v, kept, nil
	}
	return l.offerLocked(b, side, answer)
}

// repeatedLocked takes a copy of what is done: it is answered as soon as that is durable.
func (l *inLane) repeatedLocked(last federation.Offset, answer Answer) (v federation.Verdict, kept bool) {
	l.dropped++
	switch {
	case last <= l.journal.DurableDone():
		return federation.DupOK, false
	case len(l.toAnswer) >= maxToAnswer:
		return federation.WindowShut, false
	}
	l.toAnswer = append(l.toAnswer, unanswered{last, []Answer{answer}})
	return federation.OK, true
}

// offerLocked takes the copy into the window if it is admissible.
func (l *inLane) offerLocked(b *federation.Batch, side federation.Sidecar, answer Answer) (v federation.Verdict, kept bool, shed []unanswered) {
	h := &b.Header
	admission, gone := l.window.Offer(h.Span(), len(b.Bytes()))
	switch admission {
	case federation.Admitted:
		l.held[h.Span()] = &arrival{batch: b, side: side, at: time.Now(), answers: []Answer{answer}}
		for _, span := range gone {
			shed = append(shed, l.held[span].unanswered())
			l.discardLocked(l.held[span])
		}
		return federation.OK, true, shed
	case federation.Held:
		v, kept = l.heldAgainLocked(l.held[h.Span()], h, answer)
		return v, kept, nil
	}
	return federation.WindowShut, false, nil
}

// heldAgainLocked takes another copy of a batch that is held: both are answered together.
func (l *inLane) heldAgainLocked(a *arrival, h *federation.Header, answer Answer) (v federation.Verdict, kept bool) {
	if a.batch.Header.Digest != h.Digest {
		return federation.Conflict, false
	}
	l.dropped++
	if len(a.answers) >= maxAnswers {
		return federation.WindowShut, false
	}
	a.answers = append(a.answers, answer)
	return federation.OK, true
}

// holdingLocked gives the arrival that holds an offset.
func (l *inLane) holdingLocked(n federation.Offset) *arrival {
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

// releaseLocked moves what done has passed out of the window.
func (l *inLane) releaseLocked() {
	for l.firstIsDoneLocked() {
		first, _ := l.window.First()
		a := l.held[first]
		l.discardLocked(a)
		l.toAnswer = append(l.toAnswer, a.unanswered())
	}
	l.window.Advance(l.journal.Done() + 1)
}

// firstIsDoneLocked tells whether done has passed the window's first batch.
func (l *inLane) firstIsDoneLocked() bool {
	first, ok := l.window.First()
	return ok && first.Last <= l.journal.Done()
}

// discardLocked takes an arrival out of the window.
func (l *inLane) discardLocked(a *arrival) {
	l.window.Drop(a.batch.Header.Span())
	l.forgetLocked(a)
}

// forgetLocked lets go of an arrival's bytes.
func (l *inLane) forgetLocked(a *arrival) {
	delete(l.held, a.batch.Header.Span())
	if a.entries != nil {
		l.decoded -= int(a.batch.Header.RawLength)
	}
	if l.turn == a {
		l.turn = nil
	}
}

// shedLocked takes everything out, to be given back. The window is to be reset, or never used again.
func (l *inLane) shedLocked() []unanswered {
	all := l.toAnswer
	for _, a := range l.held {
		all = append(all, a.unanswered())
		l.forgetLocked(a)
	}
	l.toAnswer = nil
	return all
}
