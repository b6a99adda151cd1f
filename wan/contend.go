package wan

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// contend decides whether an accepted handshake may become the link, against the one that is up and the one that we dial. Both sides decide alike: of two
// attempts that reach the other side at once the lower site's wins.
func (n *neighbour) contend(hello federation.Hello) *refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	duplicate := &refusal{reason: "duplicate-link", verdict: federation.Full}
	switch l, a := n.link, n.attempt; {
	case n.e.draining.Load():
		return &refusal{reason: "stopping", verdict: federation.Full, text: string(n.e.cfg.Site) + " is stopping", stopping: true}
	case l != nil && l.hello.Boot == hello.Boot && l.heardWithin(2*n.e.cfg.Heartbeat) && !l.drain.done():
		duplicate.text = "the link is up at " + string(n.e.cfg.Site)
		return duplicate
	case a != nil && a.established && n.e.cfg.Site < n.site:
		duplicate.text = string(n.e.cfg.Site) + " is dialling, and its name is the lower one"
		return duplicate
	case a != nil:
		a.drop()
	}
	n.accepting++
	return nil
}

func (n *neighbour) contended() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.accepting--
	poke(n.wake)
}

// retire ends the link of another process of the peer, which a newer one has just fenced: it must not say anything after the newer one has heard OK.
func (n *neighbour) retire(ctx context.Context, newer federation.BootID) error {
	if l := n.current(); l != nil && l.hello.Boot != newer {
		return n.replace(ctx, l)
	}
	return nil
}

var errReplaced = &closeError{codeDuplicate, "", "replaced by a newer link"}

// replace ends a link for its successor. A Handler.Down that hangs is waited for no longer than a greeting: the successor is given up then, and comes again.
func (n *neighbour) replace(ctx context.Context, old *Link) error {
	ctx, cancel := context.WithTimeout(ctx, n.e.cfg.GreetTimeout)
	defer cancel()
	old.end(errReplaced)
	return n.endOf(ctx, old)
}

// endOf waits for the end of a link.
func (n *neighbour) endOf(ctx context.Context, old *Link) error {
	if old.wait(ctx) == nil {
		return nil
	}
	return &closeError{codeOverload, "link-ending", fmt.Sprintf("the link before it has not ended at %s", n.e.cfg.Site)}
}

// install makes l the link, after the end of the one before it.
func (n *neighbour) install(ctx context.Context, l *Link) error {
	for {
		old, err := n.tryInstall(l)
		if err != nil || old == nil {
			return err
		}
		if err := n.replace(ctx, old); err != nil {
			return err
		}
	}
}

func (n *neighbour) tryInstall(l *Link) (old *Link, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.ctx.Err() != nil || n.e.draining.Load():
		return nil, ErrLinkDown
	case l.dialled && n.attempt.dropped:
		return nil, &refusal{reason: "duplicate-link", verdict: federation.Full, text: "another attempt goes first"}
	case n.link != nil:
		return n.link, nil
	}
	if l.dialled {
		n.attempt = nil
	}
	n.link, n.hello, n.wasUp = l, l.hello, true
	n.goodbye, n.reason, n.fix, n.since = false, "", "", time.Now()
	return nil, nil
}
