package wan

import (
	"context"
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

func (l *Link) attach(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return false
	}
	if l.second != nil { // the peer saw its end before we did
		l.second.start(func() error { return &closeError{codeDuplicate, "", "replaced by a newer connection"} })
	}
	l.second = c
	l.tasks.Add(1)
	return true
}

// detach takes a connection 1 that has ended out of use. It may be called more than once.
func (l *Link) detach(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.second == c {
		l.second = nil
	}
}

// endSecond ends connection 1, and lets none come after it.
func (l *Link) endSecond() {
	l.mu.Lock()
	l.down = true
	c := l.second
	l.mu.Unlock()
	if c != nil {
		c.end(&closeError{codeDone, "", "connection 0 of the link has ended"})
	}
}

// keepSecond dials connection 1 whenever there is none, while the link lasts.
func (l *Link) keepSecond() {
	e, ctx := l.n.e, l.first.qc.Context()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		if err := l.dialSecond(ctx); err != nil && ctx.Err() == nil {
			e.logger.Warn("no second connection", "site", e.cfg.Site, "peer", l.n.site, "attempt", failures+1, "err", err)
		}
		if time.Since(began) >= steadyAfter {
			failures = 0
		}
		failures++
		timer.Reset(e.pause(failures))
	}
}

// dialSecond dials connection 1 and stays with it. It goes where connection 0 goes.
func (l *Link) dialSecond(ctx context.Context) error {
	o, _, err := l.n.e.dial(ctx, l.n.site, l.first.qc.RemoteAddr(), l.id, 1, func() {})
	if err != nil {
		return err
	}
	err = l.serveSecond(newConn(l, 1, o))
	o.close(codeDone, "the link has ended") // when it was not started
	return err
}
