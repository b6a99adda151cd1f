package wan

import (
	"context"
	"sync"

	"cloudqueue/federation"
)

// drain is how a link ends without losing anything. Both sides do the same:
//
//	DRAIN sent or received          take no more copies
//	nothing of ours unanswered      send DRAIN_DONE
//	DRAIN_DONE sent and received    only control frames can be on their way: the dialling side ends its control stream, the other one
//	                                answers with the end of its own, then the dialling side closes
//
// The last step is there because closing a QUIC connection throws away what was written and not acknowledged
// (docs/decisions.md, M6).
type drain struct {
	mu       sync.Mutex // copies begin and finish on any goroutine
	open     int        // copies begun and not answered
	told     bool       // DRAIN went out
	asked    bool       // DRAIN went out or came in
	sent     bool       // DRAIN_DONE went out
	received bool       // DRAIN_DONE came in
	follows  bool       // the peer said that it dials a new link after it
	reason   string
}

// tagFollows is the extension of a DRAIN that says so. It has no value.
const tagFollows = 2

// complete tells whether nothing is outstanding on either side. It needs d.mu.
func (d *drain) complete() bool { return d.sent && d.received }

// begin takes a copy into account.
func (d *drain) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked {
		return ErrDraining
	}
	d.open++
	return nil
}

// state tells whether the link is draining, why, and whether it has drained.
func (d *drain) state() (asked bool, reason string, complete bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked, d.reason, d.complete()
}

func (d *drain) done() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.complete()
}

// byPeer tells whether the link has drained because the peer asked and we did not: it stops, or dials a new one.
func (d *drain) byPeer() (asked, follows bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked = d.complete() && !d.told
	return asked, asked && d.follows
}

// Drain ends the link without losing anything: no more copies are taken on either side, both wait for the answers to
// what they sent, then the link closes. It returns nil when that is done, after Handler.Down; when ctx ends first it
// closes the link all the same (what is unanswered gets LinkLost) and returns the context's error, after Handler.Down
// unless that hangs. ErrLinkDown: the link ended before it was drained. It must not be called from a method of Handler.
func (l *Link) Drain(ctx context.Context) error {
	return l.drainFor(ctx, federation.Drain{Reason: "asked by " + string(l.peer.e.cfg.Site)})
}

func (l *Link) drainFor(ctx context.Context, f federation.Drain) error {
	l.askDrain(f)
	if err := l.wait(ctx); err != nil {
		l.end(&closeError{codeDrained, "", "the link was not drained in time"})
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
		defer cancel()
		l.wait(bound)
		return err
	}
	if _, _, complete := l.drain.state(); !complete {
		return ErrLinkDown
	}
	return nil
}

func (l *Link) askDrain(f federation.Drain) {
	d := &l.drain
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.told {
		d.told = true
		f.Reason = clip(f.Reason)
		l.sendOwn(f)
	}
	l.startDrain(f.Reason)
}

// drainRequested: DRAIN came in.
func (l *Link) drainRequested(f federation.Drain) {
	l.drain.mu.Lock()
	defer l.drain.mu.Unlock()
	l.drain.follows = extended(f.Extensions, tagFollows)
	l.startDrain(said(f.Reason))
}

// peerDrained: DRAIN_DONE came in.
func (l *Link) peerDrained() {
	l.drain.mu.Lock()
	defer l.drain.mu.Unlock()
	if !l.drain.received {
		l.drain.received = true
		l.drainStep()
	}
}

// finished: n copies were answered.
func (l *Link) finished(n int) {
	l.drain.mu.Lock()
	defer l.drain.mu.Unlock()
	l.drain.open -= n
	l.drainStep()
}

// startDrain needs d.mu.
func (l *Link) startDrain(reason string) {
	if !l.drain.asked {
		l.drain.asked, l.drain.reason = true, reason
		l.peer.e.logger.Info("link draining", "site", l.peer.e.cfg.Site, "peer", l.peer.site, "reason", reason)
		l.drainStep()
	}
}

// drainStep sends what is due. It needs d.mu, and is called at every change of what complete looks at.
func (l *Link) drainStep() {
	d := &l.drain
	if d.asked && !d.sent && d.open == 0 {
		d.sent = true
		l.sendOwn(federation.DrainDone{})
	}
	if d.complete() && l.dialled {
		l.first.finishOnce()
	}
}

// sendOwn queues one of the few frames that do not wait for space.
func (l *Link) sendOwn(f federation.Frame) {
	b, err := federation.AppendFrame(nil, f)
	if err != nil {
		panic(err) // a DRAIN or DRAIN_DONE that cannot be encoded is a bug
	}
	l.first.control.force(outFrame{head: b})
}

// endOfControl: the peer ended its control stream.
func (c *conn) endOfControl() error {
	_, _, complete := c.link.drain.state()
	switch {
	case !complete || c.index != 0:
		return protocolError("the control stream ended")
	case c.link.dialled:
		return errDrained
	default:
		c.finishOnce() // the dialling side closes when it has read our end
		return nil
	}
}

// errDrained closes a connection that has nothing more to say.
var errDrained = &closeError{codeDrained, "", "drained"}

// ending says in our words how the link ended, whichever side closed the connection.
func (l *Link) ending(err error) error {
	wrong := endOf(err, l.peer.site)
	switch {
	case wrong == nil:
		return err
	// a peer that has drained and comes anew has closed the old one
	case !l.drain.done() || wrong.code != codeDrained && wrong != errReplaced:
		return wrong
	}
	if byPeer, _ := l.drain.byPeer(); byPeer {
		return &closeError{codeDrained, "", "drained by " + string(l.peer.site)}
	}
	return errDrained
}
