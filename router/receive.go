package router

import (
	"cmp"
	"fmt"
	"math/bits"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// Copy takes a frame of a link: identity, grant, checksums, then the lane's window. It never blocks.
func (r *Router) Copy(l Link, c federation.Copy, answer Answer) {
	v, retry, lane, b := r.judge(l, c)
	if v == federation.OK {
		lane.receive(l, b, c.Sidecar, answer)
		return
	}
	r.refused.addVerdict("copy", v, string(l.Peer()))
	answer(v, retry)
}

// judge refuses what is broken or not allowed; OK comes with the lane that the copy is for.
func (r *Router) judge(l Link, c federation.Copy) (federation.Verdict, time.Duration, *inLane, *federation.Batch) {
	b, err := federation.ParseBatch(c.Batch)
	switch {
	case err != nil:
		return verdictOn(err), maxPause, nil, nil
	case b.Header.Lane.Origin != l.Peer():
		return federation.NoGrant, maxPause, nil, nil // this version relays nothing
	case notOfThisVersion(b.Header.Lane, b.Header.Flags):
		return federation.UnknownCritical, maxPause, nil, nil
	}
	dest, ok := single(b.Header.Destinations, c.Sidecar.Bitmap)
	if !ok || dest.Site != r.cfg.Site {
		return federation.NoPath, maxPause, nil, nil
	}
	key := inKey{b.Header.Lane, dest}
	r.mu.Lock()
	lane := r.in[key]
	r.mu.Unlock()
	v := federation.OK
	if lane == nil {
		lane, v = r.wake(l, key)
	}
	if lane == nil {
		return v, maxPause, nil, nil
	}
	return federation.OK, 0, lane, b
}

// single gives the one destination of a bitmap over a sealed list.
func single(dests []federation.Destination, bitmap uint64) (federation.Destination, bool) {
	i := bits.TrailingZeros64(bitmap)
	if bits.OnesCount64(bitmap) != 1 || i >= len(dests) {
		return federation.Destination{}, false
	}
	return dests[i], true
}

// laneOpened answers LANE_OPEN for every destination of the lane at this site.
func (r *Router) laneOpened(l Link, f federation.LaneOpen) {
	found := false
	for _, m := range f.Mark.Members {
		if m.Destination.Site != r.cfg.Site {
			continue
		}
		found = true
		if r.answeredAtRest(l, inKey{f.Lane, m.Destination}, f) {
			continue
		}
		lane, v, why := r.ensureInLane(l, inKey{f.Lane, m.Destination})
		if lane == nil {
			r.refused.add("lane", v.String(), about(f.Lane, l.Peer())+": "+why.Why, cmp.Or(why.Mend, copyFix(v)))
			r.reply(l, federation.LaneState{Lane: f.Lane, Verdict: v, Text: why.Text(), Destinations: []federation.DestState{{Destination: m.Destination}}})
			continue
		}
		lane.open(l, f)
	}
	if !found {
		r.refused.addVerdict("lane", federation.NoPath, about(f.Lane, l.Peer())+": it has no destination at this site")
		r.reply(l, federation.LaneState{Lane: f.Lane, Verdict: federation.NoPath, Text: "the lane has no destination at this site"})
	}
}

// ensureInLane finds the lane, or begins it when the topology grants it to the peer. A lane that was granted once goes on
// after its route is gone: what is sealed drains.
func (r *Router) ensureInLane(l Link, key inKey) (*inLane, federation.Verdict, federation.Refusal) {
	if key.lane.Origin != l.Peer() {
		return nil, federation.NoGrant, federation.Refusal{Why: fmt.Sprintf("%s may not send for %s", l.Peer(), key.lane.Origin)}
	}
	if notOfThisVersion(key.lane, 0) {
		return nil, federation.UnknownCritical, federation.Refusal{Why: fmt.Sprintf("the router of %s is older than lane %s: update it", r.cfg.Site, key.lane)}
	}
	lane, granted, version := r.findInLane(key)
	if lane != nil {
		return lane, federation.OK, federation.Refusal{}
	}
	if !granted && !r.hasJournal(key) { // the store is asked without mu: whoever opens lanes that are not granted delays nobody
		why := fmt.Sprintf("no route of topology version %d at %s sends lane %s here", version, r.cfg.Site, key.lane)
		return nil, federation.TopologyOld, federation.Refusal{Why: why}
	}
	return r.beginInLane(key)
}

// findInLane gives the lane, nil when it has not begun, and whether the topology of now, of this version, grants it.
func (r *Router) findInLane(key inKey) (lane *inLane, granted bool, version uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[key], r.grantedLocked(key), r.current.Version
}

// beginInLane begins a lane, unless another link has done so meanwhile.
func (r *Router) beginInLane(key inKey) (*inLane, federation.Verdict, federation.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lane := r.in[key]; lane != nil {
		return lane, federation.OK, federation.Refusal{}
	}
	if r.ending {
		return nil, federation.Full, federation.Refusal{Why: string(r.cfg.Site) + " is stopping"}
	}
	if len(r.in) >= r.cfg.MaxLanes {
		return nil, federation.Full, federation.Refusal{Why: fmt.Sprintf("%d lanes end at %s already", len(r.in), r.cfg.Site),
			Mend: fmt.Sprintf("raise max-lanes in the router file of %s", r.cfg.Site)}
	}
	lane := newInLane(r, key)
	r.in[key] = lane
	delete(r.resting, key)
	r.start(func() { lane.run(r.ctx) })
	return lane, federation.OK, federation.Refusal{}
}

// grantedLocked: the grants follow from the routes (G10).
func (r *Router) grantedLocked(key inKey) bool {
	for _, d := range r.inbound[key.lane].Destinations {
		if d.Destination == key.dest {
			return true
		}
	}
	return false
}

func (r *Router) inLane(l Link, lane federation.Lane, d federation.Destination) *inLane {
	if lane.Origin != l.Peer() {
		r.refused.add("frame", "about another site", about(lane, l.Peer()), "")
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in[inKey{lane, d}]
}

// inboundRoute is the route of the topology of now that ends here, or zero.
func (r *Router) inboundRoute(lane federation.Lane) topology.Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inbound[lane]
}

// syncCame hands a SYNC to the lane that asked. On another link than that on which the lane was opened last it may be of an earlier process.
func (r *Router) syncCame(l Link, f federation.Sync) {
	if lane := r.inLane(l, f.Lane, f.Destination); lane != nil {
		lane.mu.Lock()
		if lane.link == l {
			lane.answer = &f
		}
		lane.mu.Unlock()
		lane.poke()
	}
}
