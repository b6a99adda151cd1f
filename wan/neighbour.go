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

// steadyAfter is how long a link must have been up for its loss to be redialled as if it were the first failure (chosen: longer than the first four pauses together).
const steadyAfter = 10 * time.Second

// flapping bounds the failures that count after a link that was up: its pauses stay below 1 s with the default RedialMin (measured: with
// the full back-off a destination that is killed once a second is away for 10 s after the sixth time).
const flapping = 2

// neighbour is what an endpoint keeps for one peer, across links.
type neighbour struct {
	e         *Endpoint
	site      federation.SiteID
	ctx       context.Context // ends when the peer is removed or the endpoint stops
	cancel    context.CancelFunc
	wake      chan struct{} // capacity 1: something changed that the dial loop looks at
	handshake chan struct{} // capacity 1: held by the accepted handshake that may become the link
	started   bool          // the dial loop runs; Run's own
	before    *Link         // of the same peer when it was removed and added again: no link comes up before its end; nil: none
	refused   tally
	verdicts  tally
	traffic   struct{ sentFrames, sentBytes, receivedFrames, receivedBytes atomic.Uint64 }

	mu        sync.Mutex // the dial loop, accepted connections and Status meet here; methods take it, but for those that say that they need it
	peer      Peer
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
	peer        Peer
	cancel      context.CancelFunc
	established bool // TLS is through: the peer can be reached
	dropped     bool // another one goes first: the peer's own, or one to a new address
}

// drop gives an attempt up without counting it as a failure.
func (a *attempt) drop() {
	a.dropped = true
	a.cancel()
}

func newNeighbour(e *Endpoint, p Peer, before *Link) *neighbour {
	n := &neighbour{e: e, site: p.Site, peer: p, before: before, wake: make(chan struct{}, 1), handshake: make(chan struct{}, 1), since: time.Now()}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.next = time.Now().Add(n.patience(e.cfg.HeadStart))
	return n
}

// patience is how long we leave the dialling to the peer: d when it goes first. It needs n.mu, but in newNeighbour.
func (n *neighbour) patience(d time.Duration) time.Duration {
	if n.peer.PeerDials && n.site < n.e.cfg.Site {
		return d
	}
	return 0
}

// set takes a new entry of the topology; a changed address is tried at once.
func (n *neighbour) set(p Peer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	same := n.peer.Dial == p.Dial && n.peer.PeerDials == p.PeerDials && slices.Equal(n.peer.Addresses, p.Addresses)
	n.peer = p
	if !same {
		n.failures = 0
		n.next = time.Now().Add(n.patience(n.e.cfg.HeadStart))
		if n.attempt != nil {
			n.attempt.drop()
		}
		poke(n.wake)
	}
}

// run dials whenever there is no link and it is our turn, until the neighbour's context ends.
func (n *neighbour) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	n.before.wait(n.ctx)
	for n.ctx.Err() == nil {
		ctx, cancel := context.WithCancel(n.ctx)
		a, wait := n.turn(cancel)
		if a != nil {
			n.dial(ctx, a)
			cancel()
			continue
		}
		cancel()
		timer.Reset(wait)
		// Whatever is ready first: turn looks at everything again.
		select {
		case <-timer.C:
		case <-n.wake:
		case <-n.ctx.Done():
		}
	}
}

// turn begins an attempt when it is our turn to dial. Otherwise it tells when to look again, unless we are woken.
func (n *neighbour) turn(cancel context.CancelFunc) (a *attempt, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link != nil || n.accepting > 0 || !n.peer.Dial || len(n.peer.Addresses) == 0 || n.e.draining.Load() {
		return nil, time.Hour
	}
	if wait := time.Until(n.next); wait > 0 {
		return nil, wait
	}
	n.attempt = &attempt{cancel: cancel, peer: n.peer}
	return n.attempt, 0
}

// dial tries to bring the link up, and stays with it while it lasts.
func (n *neighbour) dial(ctx context.Context, a *attempt) {
	id := newLinkID()
	o, hello, err := n.e.dialAny(ctx, a.peer, id, func() { n.setEstablished(a) })
	if err != nil {
		n.failed(a, err)
		return
	}
	hello.LinkID = id // whatever the peer made of it
	link := newLink(n, o, hello, true)
	if err := n.install(ctx, link); err != nil {
		o.close(codeDuplicate, err.Error())
		n.failed(a, err)
		return
	}
	link.run(n.ctx)
}

func (n *neighbour) setEstablished(a *attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a.established = true
}

// failed notes an attempt that did not become the link, and when the next one is.
func (n *neighbour) failed(a *attempt, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempt = nil
	if a.dropped || n.ctx.Err() != nil {
		return
	}
	n.failures++
	n.next = time.Now().Add(n.e.pause(n.failures))
	n.away = unanswered(err)
	if n.goodbye && unanswered(err) {
		n.say(n.stopped())
		return
	}
	n.goodbye = n.goodbye && (stopping(err) || nameless(err))
	n.say(explain(err, n.e.cfg.Site, n.site))
}

// stopped is the reason and the fix when the peer said goodbye and does not answer any more.
func (n *neighbour) stopped() (reason, fix string) {
	return string(n.site) + " stopped cleanly; waiting for it", "start the router of " + string(n.site) + " again if it shall run"
}

// isBack: the peer came to us with its certificate. When we were waiting for it to be there, the pauses begin anew; that happens once for each time that nobody
// answered, so that a peer that comes and is refused is not dialled without end. What it came for may be the link, and then nothing is dialled.
func (n *neighbour) isBack() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link != nil || !n.away {
		return
	}
	n.away, n.failures = false, 0
	if next := time.Now().Add(n.e.pause(1)); next.Before(n.next) {
		n.next = next
		poke(n.wake)
	}
}

// say notes why there is no link, and logs it when it is something else than before. It needs n.mu.
func (n *neighbour) say(reason, fix string) {
	if reason != n.reason {
		n.since = time.Now()
		n.e.logger.Warn("no link", "site", n.e.cfg.Site, "peer", n.site, "reason", reason, "fix", fix)
	}
	n.reason, n.fix = reason, fix
}

// ended takes the link away, before its Done closes.
func (n *neighbour) ended(l *Link, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link = nil
	if time.Since(l.since) >= steadyAfter {
		n.failures = 0
	}
	n.failures = min(n.failures+1, flapping) // it was up: the peer is there, so a restart of it is not waited out
	n.next = time.Now().Add(max(n.patience(n.e.cfg.TakeOver), n.e.pause(n.failures)))
	if n.successor {
		n.successor, n.failures, n.next = false, 0, time.Now()
	}
	n.reason, n.fix = explain(err, n.e.cfg.Site, n.site)
	switch byPeer, follows := l.drain.byPeer(); {
	case follows:
		n.reason, n.fix = string(n.site)+" dials a new link, since a certificate was renewed", "when this lasts: cloudqueue status at "+string(n.site)
	case byPeer:
		n.goodbye = true
		n.reason, n.fix = n.stopped()
	}
	n.since = time.Now()
	poke(n.wake)
}

// expectSuccessor makes the next link be dialled at once.
func (n *neighbour) expectSuccessor() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.successor = true
}

func (n *neighbour) current() *Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.link
}

// sawRefusal shows a certificate that claimed to be this peer's, while there is no link.
func (n *neighbour) sawRefusal(r *pki.RefusedError, remote string) {
	n.refused.addOf(string(r.Reason), remote+": "+r.Detail)
	n.sawNoLink(fmt.Sprintf("we refused a certificate that %s showed: %s", remote, r.Detail), r.Fix)
}

func (n *neighbour) sawNoLink(reason, fix string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link == nil {
		n.say(reason, fix)
	}
}
