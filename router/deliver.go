package router

import (
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// deliverer is what run of an inLane owns: what is on its way to the broker, and what is decided about it.
type deliverer struct {
	route       topology.Route // of the topology of now; zero when it is gone
	coder       *federation.Coder
	channel     channel
	outcomes    chan published // capacity PublishWindow: never blocks the broker's goroutine
	items       map[federation.Offset]*item
	unconfirmed int // items without an outcome
	retry       pause
	search      search
	cuts        cuts
	commits     commitQueue
	rate        arrivalRate
	rest        rest
	loggedWrong string // the reason of the contradiction that was logged last
}

// item is one offset on its way into the broker.
type item struct {
	at        federation.Offset
	arrival   *arrival
	entry     *federation.Entry
	flagged   bool
	attempts  uint32
	closed    int // connections that it alone made the broker close
	firstTry  time.Time
	reason    string // why it is parked
	lastError string
}

type published struct {
	it      *item
	outcome federation.Outcome
}

// pause is how long nothing is published after something did not work.
type pause struct {
	until  time.Time
	length time.Duration // of the last one; 0 since something worked
}

// begin doubles the pause, between minPause and maxPause.
func (p *pause) begin(now time.Time) {
	p.length = min(max(2*p.length, minPause), maxPause)
	p.until = now.Add(p.length)
}

// left is what is left of the pause.
func (p *pause) left(now time.Time) time.Duration { return max(0, p.until.Sub(now)) }

func (l *inLane) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.Known()
}

// isSettling tells whether nothing new is taken for now.
func (l *inLane) isSettling() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settling
}

// isBusy tells whether something of the generation has no outcome yet, or one that is not durable.
func (l *inLane) isBusy() bool { return l.unconfirmed > 0 || !l.commits.idle() }

// end notes how an item ended; what done passes leaves the window.
func (l *inLane) end(it *item, how federation.End) {
	delete(l.items, it.at)
	now := time.Now()
	l.rate.add(1, now)
	l.commits.changed(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.lag = now, now.Sub(it.arrival.batch.Header.SealedAt)
	l.journal.End(it.at, how)
	if l.firstIsDoneLocked() {
		l.releaseLocked()
	}
}
