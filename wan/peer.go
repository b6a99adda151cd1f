package wan

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// steadyAfter is how long a link must have been up for its loss to be redialled as if it were the first failure
// (chosen: longer than the first four pauses together).
const steadyAfter = 10 * time.Second

// flapping bounds the failures that count after a link that was up: its pauses stay below 1 s with the default
// RedialMin (measured: with the full back-off a destination that is killed once a second is away for 10 s after the
// sixth time).
const flapping = 2

// peer is what an endpoint keeps for one peer, across links.
type peer struct {
	e         *Endpoint
	site      federation.SiteID
	ctx       context.Context // ends when the peer is removed or the endpoint stops
	cancel    context.CancelFunc
	wake      chan struct{} // capacity 1: something changed that the dial loop looks at
	handshake chan struct{} // capacity 1: held by the accepted handshake that may become the link
	started   bool          // the dial loop runs; Run's own
	// of the same peer when it was removed and added again: no link comes up before its end; nil: none
	before   *Link
	refused  tally
	verdicts tally
	traffic  struct{ sentFrames, sentBytes, receivedFrames, receivedBytes atomic.Uint64 }

	// the dial loop, accepted connections and Status meet here; methods take it, but for those that say that they need
	// it
	mu        sync.Mutex
	entry     Peer
	link      *Link
	attempt   *attempt // our own dialling in progress
	accepting int      // accepted handshakes that may become the link
	failures  int      // since the last steady link
	away      bool     // the last attempt found nobody
	successor bool     // the link was drained to be dialled anew
	next      time.Time
	wasUp     bool
	hello     federation.Hello // the latest of the peer
	goodbye   bool             // the peer drained the link and has not answered since
	reason    string           // why there is no link
	fix       string
	since     time.Time
}

// attempt is a link that we are dialling.
type attempt struct {
	entry       Peer
	cancel      context.CancelFunc
	established bool // TLS is through: the peer can be reached
	dropped     bool // another one goes first: the peer's own, or one to a new address
}

// drop gives an attempt up without counting it as a failure.
func (a *attempt) drop() {
	a.dropped = true
	a.cancel()
}

func newPeer(e *Endpoint, entry Peer, before *Link) *peer {
	p := &peer{e: e, site: entry.Site, entry: entry, before: before, wake: make(chan struct{}, 1),
		handshake: make(chan struct{}, 1), since: time.Now()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.next = time.Now().Add(p.patience(e.cfg.HeadStart))
	return p
}

// patience is how long we leave the dialling to the peer: d when it goes first. It needs p.mu, but in newPeer.
func (p *peer) patience(d time.Duration) time.Duration {
	if p.entry.PeerDials && p.site < p.e.cfg.Site {
		return d
	}
	return 0
}

// set takes a new entry of the topology; a changed address is tried at once.
func (p *peer) set(entry Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	same := p.entry.Dial == entry.Dial && p.entry.PeerDials == entry.PeerDials &&
		slices.Equal(p.entry.Addresses, entry.Addresses)
	p.entry = entry
	if !same {
		p.failures = 0
		p.next = time.Now().Add(p.patience(p.e.cfg.HeadStart))
		if p.attempt != nil {
			p.attempt.drop()
		}
		poke(p.wake)
	}
}

// run dials whenever there is no link and it is our turn, until the peer is removed or the endpoint stops.
func (p *peer) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	p.before.wait(p.ctx)
	for p.ctx.Err() == nil {
		ctx, cancel := context.WithCancel(p.ctx)
		a, wait := p.turn(cancel)
		if a != nil {
			p.dial(ctx, a)
			cancel()
			continue
		}
		cancel()
		timer.Reset(wait)
		// Whatever is ready first: turn looks at everything again.
		select {
		case <-timer.C:
		case <-p.wake:
		case <-p.ctx.Done():
		}
	}
}

// turn begins an attempt when it is our turn to dial. Otherwise it tells when to look again, unless we are woken.
func (p *peer) turn(cancel context.CancelFunc) (a *attempt, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil || p.accepting > 0 || !p.entry.Dial || len(p.entry.Addresses) == 0 || p.e.draining.Load() {
		return nil, time.Hour
	}
	if wait := time.Until(p.next); wait > 0 {
		return nil, wait
	}
	p.attempt = &attempt{cancel: cancel, entry: p.entry}
	return p.attempt, 0
}

// dial tries to bring the link up, and stays with it while it lasts.
func (p *peer) dial(ctx context.Context, a *attempt) {
	id := newLinkID()
	o, hello, err := p.e.dialAny(ctx, a.entry, id, func() { p.setEstablished(a) })
	if err != nil {
		p.failed(a, err)
		return
	}
	hello.LinkID = id // whatever the peer made of it
	link := newLink(p, o, hello, true)
	if err := p.install(ctx, link); err != nil {
		o.close(codeDuplicate, err.Error())
		p.failed(a, err)
		return
	}
	link.run(p.ctx)
}

func (p *peer) setEstablished(a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.established = true
}

// failed notes an attempt that did not become the link, and when the next one is.
func (p *peer) failed(a *attempt, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attempt = nil
	if a.dropped || p.ctx.Err() != nil {
		return
	}
	p.e.countRefusedOurs(err, p)
	p.failures++
	p.next = time.Now().Add(p.e.pause(p.failures))
	p.away = unanswered(err)
	if p.goodbye && unanswered(err) {
		p.say(p.stopped())
		return
	}
	p.goodbye = p.goodbye && (stopping(err) || nameless(err))
	p.say(explain(err, p.e.cfg.Site, p.site))
}

// stopped is the reason and the fix when the peer said goodbye and does not answer any more.
func (p *peer) stopped() (reason, fix string) {
	return string(p.site) + " stopped cleanly; waiting for it",
		"start the router of " + string(p.site) + " again if it shall run"
}

// isBack: the peer came to us with its certificate. When we were waiting for it to be there, the pauses begin anew;
// that happens once for each time that nobody answered, so that a peer that comes and is refused is not dialled without
// end. What it came for may be the link, and then nothing is dialled.
func (p *peer) isBack() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link != nil || !p.away {
		return
	}
	p.away, p.failures = false, 0
	if next := time.Now().Add(p.e.pause(1)); next.Before(p.next) {
		p.next = next
		poke(p.wake)
	}
}

// say notes why there is no link, and logs it when it is something else than before. It needs p.mu.
func (p *peer) say(reason, fix string) {
	if reason != p.reason {
		p.since = time.Now()
		p.e.logger.Warn("no link", "site", p.e.cfg.Site, "peer", p.site, "reason", reason, "fix", fix)
	}
	p.reason, p.fix = reason, fix
}

// ended takes the link away, before its Done closes.
func (p *peer) ended(l *Link, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.link = nil
	if time.Since(l.since) >= steadyAfter {
		p.failures = 0
	}
	p.failures = min(p.failures+1, flapping) // it was up: the peer is there, so a restart of it is not waited out
	p.next = time.Now().Add(max(p.patience(p.e.cfg.TakeOver), p.e.pause(p.failures)))
	if p.successor {
		p.successor, p.failures, p.next = false, 0, time.Now()
	}
	p.reason, p.fix = explain(err, p.e.cfg.Site, p.site)
	switch byPeer, follows := l.drain.byPeer(); {
	case follows:
		p.reason, p.fix = string(p.site)+" dials a new link, since a certificate was renewed",
			"when this lasts: cloudqueue status at "+string(p.site)
	case byPeer:
		p.goodbye = true
		p.reason, p.fix = p.stopped()
	}
	p.since = time.Now()
	poke(p.wake)
}

// expectSuccessor makes the next link be dialled at once.
func (p *peer) expectSuccessor() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.successor = true
}

func (p *peer) current() *Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link
}

// sawRefusal shows a certificate that claimed to be this peer's, while there is no link.
func (p *peer) sawRefusal(r *pki.RefusedError, remote string) {
	p.refused.addOf(string(r.Reason), remote+": "+r.Detail)
	p.sawNoLink(fmt.Sprintf("we refused a certificate that %s showed: %s", remote, r.Detail), r.Fix)
}

func (p *peer) sawNoLink(reason, fix string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == nil {
		p.say(reason, fix)
	}
}
