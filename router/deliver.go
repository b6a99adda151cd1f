package router

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// deliverer is what run of an inLane owns: the publisher, what is on its way to the broker, and the commit in progress.
type deliverer struct {
	route       topology.Route // of the topology of now; zero when it is gone
	coder       *federation.Coder
	pub         Publisher
	incarnation uint64
	acquired    bool
	errand      *errand         // what the broker was asked and has not answered; nil: nothing
	more        <-chan struct{} // closed when the broker may take more; nil: it does
	outcomes    chan published  // capacity PublishWindow: never blocks the broker's goroutine
	items       map[federation.Offset]*item
	turn        *arrival  // the batch that is being published; guarded by mu
	unconfirmed int       // items without an outcome
	apart       bool      // a connection of its own is wanted: a publish may close it
	aside       bool      // the channel is on one
	apartUntil  time.Time // at least
	overPublish bool      // a publish closed the channel, or the connection, whose outcomes are coming in
	probe       int       // how many may be unconfirmed while the publish that closed a channel is looked for; 0: no such search
	exchanges   map[string]bool
	retryAt     time.Time // nothing is published before
	retryPause  time.Duration
	commit      *journalCommit
	parks       []*item   // to be parked with the next commit
	parkAt      time.Time // not before: the parking was full
	dirtyAt     time.Time // since when the journal has something to commit; zero: nothing
	rate        arrivalRate
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

// journalCommit is a commit on its way: PARKs, or the journal. PARK n goes before done >= n, in an earlier group (4.2).
type journalCommit struct {
	ticket *spool.Ticket
	parks  []*item
	mark   federation.Journal
}

// journalPause gathers what ended into one commit: 10 ms delay verdicts, receipts and window by no more than a round trip
// inside a city, and save most of the syncs at a few hundred messages a second.
const journalPause = 10 * time.Millisecond

// run publishes until the context ends, or a clean stop is asked for. Nothing of the journal is read before every owner
// lock of this site is held (6.2). A store that takes nothing more ends the router.
func (l *inLane) run(ctx context.Context) {
	defer l.leave()
	if err := l.work(ctx); err != nil {
		l.r.fail(fmt.Errorf("lane %s: journal: %w", l.key.lane, err))
	}
}

func (l *inLane) work(ctx context.Context) error {
	taking, cancel := l.untilStopping(ctx)
	defer cancel()
	if !l.begin(taking) {
		return nil
	}
	timer := time.NewTimer(journalPause)
	defer timer.Stop()
	for !l.finished() {
		if err := l.advance(ctx, taking); err != nil {
			return err
		}
		more := l.more
		timer.Reset(l.nextLook())
		// Any ready order gives the same result: advance looks at everything.
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		case <-more:
		case p := <-l.outcomes:
			l.take(p)
		case <-l.commitDone():
			if err := l.committed(ctx); err != nil {
				return err
			}
		case <-timer.C: // without news
			l.showAlarm()
		}
	}
	return nil
}

// begin takes a publisher and reads the journal. It is false when the lane was stopped first.
func (l *inLane) begin(taking context.Context) bool {
	pub, err := l.r.owners.take(taking)
	if err != nil {
		return false
	}
	l.pub = pub
	if err := l.load(); err != nil {
		l.say("held", err.Error(), "the journal's mark cannot be read: keep the store, and update the router")
		<-taking.Done()
		return false
	}
	return true
}

// untilStopping is a context that ends with a clean stop too.
func (l *inLane) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(ctx)
	l.r.start(func() {
		select {
		case <-l.stopping:
		case <-out.Done():
		}
		cancel()
	})
	return out, cancel
}

// advance does all that can be done now. The broker is asked while taking lasts; the store is waited for until ctx ends. Its error is the
// context's, or that the store is over.
func (l *inLane) advance(ctx, taking context.Context) error {
	l.takeWaiting()
	l.route = l.r.inboundRoute(l.key.lane)
	l.adoptIfAnswered()
	if l.isKnown() && !l.isStopping() {
		l.publishMore(taking)
	}
	return l.startCommit(ctx)
}

func (l *inLane) takeWaiting() {
	for {
		select {
		case p := <-l.outcomes:
			l.take(p)
		default:
			return
		}
	}
}

func (l *inLane) isKnown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.journal.Known()
}

func (l *inLane) isStopping() bool {
	select {
	case <-l.stopping:
		return true
	default:
		return false
	}
}

// finished: a clean stop is asked for and nothing more can be done for it. What failed and is not published again stays
// above done; the journal's reserved covers it.
func (l *inLane) finished() bool {
	if !l.isStopping() || l.unconfirmed > 0 || l.commit != nil || len(l.parks) > 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Stop() // lowers reserved, unless something is unfinished; startCommit makes that durable
	return !l.journal.Known() || !l.journal.Changed()
}

// stopCleanly lets the lane confirm what is on its way and close its journal. When the time runs out, reserved stays as
// it is, and the exit counts as a crash.
func (l *inLane) stopCleanly(ctx context.Context) {
	l.stopOnce.Do(func() { close(l.stopping) })
	l.poke()
	select {
	case <-l.stopped:
	case <-ctx.Done():
		l.r.log.Warn("lane not stopped cleanly", "lane", l.key.lane.String(), "dest", l.key.dest.String())
	}
}

// nextLook is how long run may sleep without news.
func (l *inLane) nextLook() time.Duration {
	look := time.Second
	if !l.dirtyAt.IsZero() && l.commit == nil {
		look = min(look, time.Until(l.dirtyAt.Add(journalPause)))
	}
	if wait := time.Until(l.retryAt); wait > 0 {
		look = min(look, wait)
	}
	return max(look, 0)
}

func (l *inLane) commitDone() <-chan struct{} {
	if l.commit == nil {
		return nil
	}
	return l.commit.ticket.Done()
}

// end notes how an item ended; what done passes leaves the window.
func (l *inLane) end(it *item, how federation.End) {
	delete(l.items, it.at)
	now := time.Now()
	l.rate.add(1, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.lag = now, now.Sub(it.arrival.batch.Header.SealedAt)
	l.journal.End(it.at, how)
	if l.passesBatch() {
		l.release()
	}
	if l.dirtyAt.IsZero() {
		l.dirtyAt = now
	}
}
