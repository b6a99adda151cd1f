package router

import (
	"context"
	"fmt"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// Hello is what this site says of itself now.
func (r *Router) Hello() federation.Hello {
	r.mu.Lock()
	snap := r.current
	r.mu.Unlock()
	return federation.Hello{Federation: r.cfg.Federation, Site: r.cfg.Site, Router: r.cfg.Name, Store: r.identity.Store, Born: r.identity.Born,
		Epoch: r.identity.Epoch, LastLSN: r.cfg.Spool.LastLSN(), Openings: r.cfg.Spool.Openings(), Boot: r.cfg.Boot, TopologyVersion: snap.Version, TopologyDigest: snap.Digest,
		MaxBatch: federation.MaxEncodedBatch + federation.MaxBatchHeader, Codecs: 1<<federation.CodecNone | 1<<federation.CodecS2 | 1<<federation.CodecZstd}
}

// Greet decides on a peer's HELLO. OK means that what the peer said is durable (4.2, HELLO_ACK).
func (r *Router) Greet(ctx context.Context, h federation.Hello) (federation.Verdict, federation.Refusal) {
	key := federation.MarkKey{Kind: federation.MarkPeer, Dest: federation.Destination{Site: h.Site}}
	if value, ok := r.cfg.Spool.Mark(key); ok {
		known, err := federation.ParsePeerMark(value)
		if err != nil {
			return federation.Fenced, federation.Refusal{Why: "what this site remembers of the peer cannot be read: " + err.Error()}
		}
		if why := fence(known, h, r.runs(h.Site, known.Boot)); why.Why != "" {
			r.refused.add("hello", federation.Fenced.String(), string(h.Site)+": "+why.Why, fencedFix)
			r.log.Error("peer fenced", "peer", string(h.Site), "reason", why.Why, "fix there", why.Mend)
			return federation.Fenced, why
		}
		if saysNothingNew(known, h) {
			return federation.OK, federation.Refusal{}
		}
	}
	mark := federation.PeerMark{Store: h.Store, Born: h.Born, Epoch: h.Epoch, LastLSN: h.LastLSN, Boot: h.Boot}
	if err := r.cfg.Spool.Commit(ctx, spool.MarkRecord{Key: key, Value: mark.Encode()}); err != nil {
		return federation.Full, federation.Refusal{Why: "the store of " + string(r.cfg.Site) + " does not answer"}
	}
	return federation.OK, federation.Refusal{}
}

// saysNothingNew tells whether a HELLO is of a process that is known, with hardly more in its store: a peer whose link flaps says
// four of them a second, and each would be a commit.
func saysNothingNew(known federation.PeerMark, h federation.Hello) bool {
	return known.Store == h.Store && known.Born.Equal(h.Born) && known.Epoch == h.Epoch && known.Boot == h.Boot && h.LastLSN < known.LastLSN+helloWorth
}

// helloWorth is how many more groups of its store a HELLO must tell of to be kept. Chosen: ten seconds of a busy site. A state of one opening
// that is put back by less than that passes its HELLO; what its lanes say of done still gives it away (federation, branch.go).
const helloWorth = 1000

// runs tells whether the link to a peer is up and was opened by that process.
func (r *Router) runs(peer federation.SiteID, boot federation.BootID) bool {
	l := r.link(peer)
	return l != nil && l.Hello().Boot == boot
}

// fence compares a peer's store with what this site has seen of it (design section 5); the zero Refusal lets it in. A later opening must have
// gone on from the one that was seen: an older state that was put back never heard of it, however much was written to it since. runs says
// that the process seen last is still linked: then there are two copies of the store. Nobody is told to delete one: it may hold messages
// that the other does not have.
func fence(known federation.PeerMark, h federation.Hello, runs bool) federation.Refusal {
	another := h.Boot != known.Boot
	wentOn := h.Epoch > known.Epoch && federation.WentOnFrom(h.Openings, known.Epoch, known.LastLSN)
	sameProcess := !another && h.Epoch == known.Epoch && h.LastLSN+helloReorder >= known.LastLSN
	switch {
	case known.Store != h.Store && h.Born.Before(known.Born):
		why := fmt.Sprintf("store replaced by an older one: %s, born %s, after %s", h.Store, h.Born.UTC().Format("2006-01-02T15:04:05Z"), known.Store)
		return federation.Refusal{Why: why, Mend: "mount the newer store, or stop the router and give this one a new id: " + newIDCommand}
	case known.Store != h.Store, wentOn, sameProcess:
		return federation.Refusal{}
	case another && runs:
		why := fmt.Sprintf("store cloned: epoch %d, LSN %d of it runs elsewhere, this one is epoch %d, LSN %d", known.Epoch, known.LastLSN, h.Epoch, h.LastLSN)
		return federation.Refusal{Why: why, Mend: "stop one of the two; to keep both, stop this one and run: " + resealCommand}
	case another && h.Epoch <= known.Epoch: // put back under a clock that went back, or a copy whose original is away
		why := fmt.Sprintf("store rewound or cloned: epoch %d, LSN %d was seen, this one is epoch %d, LSN %d", known.Epoch, known.LastLSN, h.Epoch, h.LastLSN)
		return federation.Refusal{Why: why, Mend: "stop it; if no other router has a copy of this store, run: " + resealCommand}
	}
	why := fmt.Sprintf("store rewound: epoch %d, LSN %d was seen, and this one, of epoch %d, LSN %d, did not go on from there",
		known.Epoch, known.LastLSN, h.Epoch, h.LastLSN)
	return federation.Refusal{Why: why, Mend: "stop the router and run: " + resealCommand}
}

// helloReorder is how far the HELLO of one of a link's two connections may lag behind the other's: LSNs of one process
// within the seconds of a handshake.
const helloReorder = 1 << 20

// Up takes a link into use.
func (r *Router) Up(l Link) {
	ctx, cancel := context.WithCancel(r.ctx)
	q := newReplies(cancel)
	r.start(func() { q.run(ctx, l) })
	r.mu.Lock()
	r.links[l.Peer()], r.replies[l] = l, q
	outs := values(r.out)
	r.mu.Unlock()
	for _, lane := range outs {
		lane.pokeSenders(l.Peer())
	}
}

// Down forgets a link; every answer that was open has been given LinkLost.
func (r *Router) Down(l Link, reason error) {
	r.mu.Lock()
	if r.links[l.Peer()] == l {
		delete(r.links, l.Peer())
	}
	if q := r.replies[l]; q != nil {
		q.cancel()
		delete(r.replies, l)
	}
	outs := values(r.out)
	r.mu.Unlock()
	for _, lane := range outs {
		lane.pokeSenders(l.Peer())
	}
}

// Control takes a frame of a link's control stream. It never blocks: what needs the store goes to a goroutine of the lane.
func (r *Router) Control(l Link, f federation.Frame) {
	switch f := f.(type) {
	case federation.LaneOpen:
		r.laneOpened(l, f)
	case federation.LaneState:
		r.toSender(l, f.Lane, f.Destinations, func(s *sender, d federation.DestState) { s.laneState(l, f, d) })
	case federation.Window:
		if s := r.senderOf(l, f.Lane, f.Destination); s != nil {
			s.windowMoved(l, f)
		}
	case federation.Receipt:
		if s := r.senderOf(l, f.Lane, f.Destination); s != nil {
			s.receiptCame(f)
		}
	case federation.SyncReq:
		r.syncAsked(l, f)
	case federation.Sync:
		r.syncCame(l, f)
	}
}

// senderOf finds the sender that a frame is about. A peer speaks for destinations at its own site alone (G10).
func (r *Router) senderOf(l Link, lane federation.Lane, d federation.Destination) *sender {
	if d.Site != l.Peer() || lane.Origin != r.cfg.Site {
		r.refused.add("frame", "about another site", about(lane, l.Peer()), "")
		return nil
	}
	r.mu.Lock()
	out := r.out[lane]
	r.mu.Unlock()
	if out == nil {
		r.refused.add("frame", "about an unknown lane", about(lane, l.Peer()), "")
		return nil
	}
	return out.sender(d)
}

func (r *Router) toSender(l Link, lane federation.Lane, dests []federation.DestState, f func(*sender, federation.DestState)) {
	for _, d := range dests {
		if s := r.senderOf(l, lane, d.Destination); s != nil {
			f(s, d)
		}
	}
}
