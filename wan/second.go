package wan

import (
	"context"
	"errors"
	"time"
)

// serveSecond makes c connection 1 and stays with it. ErrLinkDown: the link has ended, c was not started.
func (l *Link) serveSecond(c *conn) error {
	if !l.attach(c) {
		return ErrLinkDown
	}
	defer l.tasks.Done()
	defer l.detach(c)
	return c.run()
}

// attach makes c connection 1. The one before it, if there is one, finishes what was begun on it (retire).
func (l *Link) attach(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	if old := l.second; old != nil {
		l.retired[old] = true
		l.tasks.Go(func() { l.retire(old) })
	}
	l.second = c
	l.tasks.Add(1)
	return true
}

// detach takes a connection 1 that has ended out of use. It may be called more than once.
func (l *Link) detach(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.retired, c)
	if l.second == c {
		l.second = nil
	}
}

// endSecond ends every connection but the first, and lets none come after it.
func (l *Link) endSecond() {
	l.mu.Lock()
	l.down = true
	all := []*conn{l.second}
	for c := range l.retired {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		if c != nil {
			c.end(&closeError{codeDone, "", "connection 0 of the link has ended"})
		}
	}
}

// keepSecond dials connection 1 whenever there is none, and again when a certificate has been renewed, while the link
// lasts.
func (l *Link) keepSecond() {
	e, ctx := l.peer.e, l.first.qc.Context()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var began time.Time
	var ended <-chan struct{} // closed at the end of the connection 1 that we dialled last; nil: there is none
	for failures := 0; ; {
		// Both at once: the end of the connection is seen in the next round.
		select {
		case <-ctx.Done():
			return
		case <-ended:
			if ended = nil; time.Since(began) >= steadyAfter {
				failures = 0
			}
			failures++
			timer.Reset(e.pause(failures))
			continue
		case <-timer.C:
		}
		timer.Reset(e.cfg.Heartbeat)
		if ended != nil {
			switch l.renewal() {
			case renewNothing:
				continue
			case renewLink:
				l.handOver()
				return
			}
		}
		began = time.Now()
		another, err := l.dialSecond(ctx)
		if err == nil {
			ended = another
		} else {
			failures++
			timer.Reset(e.pause(failures))
		}
		l.dialledSecond(err, failures)
	}
}

// dialledSecond tells what came of it.
func (l *Link) dialledSecond(err error, attempt int) {
	if err == nil {
		l.trouble.Store(nil)
		return
	}
	if l.first.qc.Context().Err() != nil {
		return
	}
	e := l.peer.e
	e.countRefusedOurs(err, l.peer)
	reason, fix := explain(err, e.cfg.Site, l.peer.site)
	l.trouble.Store(&trouble{reason, fix})
	e.logger.Warn("no second connection", "site", e.cfg.Site, "peer", l.peer.site, "attempt", attempt, "err", err)
}

// trouble is why there is no connection 1, or none with the certificates of today.
type trouble struct{ reason, fix string }

// dialSecond dials connection 1, where connection 0 goes. The channel is closed at its end.
func (l *Link) dialSecond(ctx context.Context) (ended <-chan struct{}, err error) {
	o, err := l.peer.e.dial(ctx, l.peer.site, l.first.qc.RemoteAddr(), l.id, 1)
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	l.tasks.Go(func() { // keepSecond is one of these tasks, so there is no end of them yet
		defer close(over)
		if err := l.serveSecond(newConn(l, 1, o)); errors.Is(err, ErrLinkDown) {
			o.close(codeDone, "the link has ended")
		}
	})
	return over, nil
}
