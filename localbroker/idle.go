package localbroker

import (
	"context"
	"time"
)

// How a publisher that nobody uses finds back to what it would have in use.
const (
	idleLook = 10 * time.Second // between two looks
	// that show no use, before something is done. Chosen: who wants to publish acquires in milliseconds
	idleLooks = 3
)

// use is what changes with each use of a publisher.
type use struct{ incarnation, sent, answered uint64 }

// watchIdle takes the owner lock again for a publisher that had it and whose channel ended with nobody there to
// acquire, and gives up a connection of its own that nobody uses any more. It ends with ctx.
func (p *Publisher) watchIdle(ctx context.Context) {
	tick := time.NewTicker(idleLook)
	defer tick.Stop()
	var last use
	for looks := 0; ; looks++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if now := p.use(); now != last {
			last, looks = now, 0
		}
		if last.incarnation > 0 && looks >= idleLooks {
			p.comeBack(ctx)
		}
	}
}

func (p *Publisher) use() use {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := use{incarnation: p.incarnation}
	if p.current != nil {
		u.sent, u.answered = p.current.window.next, p.current.window.first
	}
	return u
}

// comeBack tries once to hold the lock on the shared connection, unless somebody acquires at this moment or it is held
// there already.
func (p *Publisher) comeBack(ctx context.Context) {
	select {
	case p.acquiring <- struct{}{}:
		defer func() { <-p.acquiring }()
	default:
		return
	}
	if p.broker.publishing.status().State != stateRunning || !p.withdraw() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, idleLook/2) // who wants to acquire waits for it
	defer cancel()
	p.closeOwn()
	if _, err := p.tryAcquire(ctx, false); err == nil {
		p.box.set(stateRunning, "", "")
	} else if ctx.Err() == nil && err != errWoken {
		p.explain(err)
	}
}

// withdraw ends an incarnation on a connection of the publisher's own, if nothing is unanswered there. It tells whether
// there is none now.
func (p *Publisher) withdraw() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.current
	if p.closed || t != nil && (!t.session.apart || t.window.first != t.window.next) {
		return false
	}
	p.current, p.lost = nil, time.Now()
	return true
}
