package wan

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// contend decides whether an accepted handshake may become the link, against the one that is up and the one that we
// dial. Both sides decide alike: of two attempts that reach the other side at once the lower site's wins.
func (p *peer) contend(hello federation.Hello) *refusal {
	p.mu.Lock()
	defer p.mu.Unlock()
	duplicate := &refusal{reason: "duplicate-link", verdict: federation.Full}
	switch l, a := p.link, p.attempt; {
	case p.e.draining.Load():
		return &refusal{reason: "stopping", verdict: federation.Full, text: string(p.e.cfg.Site) + " is stopping",
			stopping: true}
	case l != nil && l.hello.Boot == hello.Boot && l.heardWithin(2*p.e.cfg.Heartbeat) && !l.drain.done():
		duplicate.text = "the link is up at " + string(p.e.cfg.Site)
		return duplicate
	case a != nil && a.established && p.e.cfg.Site < p.site:
		duplicate.text = string(p.e.cfg.Site) + " is dialling, and its name is the lower one"
		return duplicate
	case a != nil:
		a.drop()
	}
	p.accepting++
	return nil
}

func (p *peer) contended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepting--
	poke(p.wake)
}

// retire ends the link of another process of the peer, which a newer one has just fenced: it must not say anything
// after the newer one has heard OK.
func (p *peer) retire(ctx context.Context, newer federation.BootID) error {
	if l := p.current(); l != nil && l.hello.Boot != newer {
		return p.replace(ctx, l)
	}
	return nil
}

var errReplaced = &closeError{codeDuplicate, "", "replaced by a newer link"}

// replace ends a link for its successor. A Handler.Down that hangs is waited for no longer than a greeting: the
// successor is given up then, and comes again.
func (p *peer) replace(ctx context.Context, old *Link) error {
	ctx, cancel := context.WithTimeout(ctx, p.e.cfg.GreetTimeout)
	defer cancel()
	old.end(errReplaced)
	return p.endOf(ctx, old)
}

// endOf waits for the end of a link.
func (p *peer) endOf(ctx context.Context, old *Link) error {
	if old.wait(ctx) == nil {
		return nil
	}
	return &closeError{codeOverload, "link-ending", fmt.Sprintf("the link before it has not ended at %s", p.e.cfg.Site)}
}

// install makes l the link, after the end of the one before it.
func (p *peer) install(ctx context.Context, l *Link) error {
	for {
		old, err := p.tryInstall(l)
		if err != nil || old == nil {
			return err
		}
		if err := p.replace(ctx, old); err != nil {
			return err
		}
	}
}

func (p *peer) tryInstall(l *Link) (old *Link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil || p.e.draining.Load():
		return nil, ErrLinkDown
	case l.dialled && p.attempt.dropped:
		return nil, &refusal{reason: "duplicate-link", verdict: federation.Full, text: "another attempt goes first"}
	case p.link != nil:
		return p.link, nil
	}
	if l.dialled {
		p.attempt = nil
	}
	p.link, p.hello, p.wasUp = l, l.hello, true
	p.goodbye, p.reason, p.fix, p.since = false, "", "", time.Now()
	return nil, nil
}
