package router

import (
	"context"
	"fmt"
	"time"
)

// run publishes until the context ends, or a clean stop is asked for. Nothing of the journal is read before every owner
// lock of this site is held (6.2). A store that takes nothing more ends the router.
func (l *inLane) run(ctx context.Context) {
	err := l.work(ctx)
	l.leave()
	if err != nil {
		l.r.fail(fmt.Errorf("lane %s: %w", l.key.lane, err))
	} else if l.rest.due {
		l.r.letGo(l)
	}
}

func (l *inLane) work(ctx context.Context) error {
	taking, cancel := l.untilStopping(ctx)
	defer cancel()
	if began, err := l.begin(taking); !began {
		return err
	}
	timer := time.NewTimer(journalPause)
	defer timer.Stop()
	for !l.finished() {
		if err := l.advance(ctx, taking); err != nil {
			return err
		}
		now := time.Now()
		l.showAlarm(now)
		l.logContradiction()
		l.restWhenDone(now)
		timer.Reset(l.nextLook())
		if err := l.waitForNews(ctx, timer); err != nil {
			return err
		}
	}
	return nil
}

// waitForNews takes what comes first. Any ready order gives the same result: advance looks at everything.
func (l *inLane) waitForNews(ctx context.Context, timer *time.Timer) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.wake:
	case <-l.channel.busy:
	case p := <-l.outcomes:
		l.take(p)
	case <-l.commits.done():
		return l.committed(ctx)
	case <-timer.C: // without news
	}
	return nil
}

// begin takes a publisher and reads the journal. It is false when the lane was stopped first, or with the error of a store that is over.
func (l *inLane) begin(taking context.Context) (bool, error) {
	pub, err := l.r.owners.take(taking)
	if taking.Err() != nil {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("owner lock: %w", err)
	}
	l.channel.pub = pub
	if err := l.load(); err != nil {
		l.hold(err.Error(), "the journal's mark cannot be read: keep the store, and update the router")
		<-taking.Done()
		return false, nil
	}
	return true, nil
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
	l.settle()
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
