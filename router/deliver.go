package router

import (
	"context"
	"fmt"
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
	commits     commitQueue
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
		busy := l.channel.busy
		timer.Reset(l.nextLook())
		// Any ready order gives the same result: advance looks at everything.
		select {
		case <-ctx.Done():
			return nil
		case <-l.wake:
		case <-busy:
		case p := <-l.outcomes:
			l.take(p)
		case <-l.commits.done():
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
	l.channel.pub = pub
	if err := l.load(); err != nil {
		l.hold(err.Error(), "the journal's mark cannot be read: keep the store, and update the router")
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

// isBusy tells whether something of the generation has no outcome yet, or one that is not durable.
func (l *inLane) isBusy() bool { return l.unconfirmed > 0 || !l.commits.idle() }

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
	if !l.isStopping() || l.isBusy() {
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
	now := time.Now()
	look := l.commits.wait(now)
	if wait := l.retry.left(now); wait > 0 {
		look = min(look, wait)
	}
	return max(look, 0)
}

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
