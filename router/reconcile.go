package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// act brings the router to a topology: lanes begin with their LANE marks durable, routes that are gone stop taking, and
// only then the snapshot counts as applied (4.2). What did not change is not touched. It is idempotent; after an error it is
// called again.
func (r *Router) act(ctx context.Context, snap topology.Snapshot) error {
	doc := snap.Document
	from := doc.RoutesFrom(r.cfg.Site)
	outbound := byLane(from)
	left := byQueue(snap.Left)
	if err := r.leftovers.bindAgain(ctx, from); err != nil {
		return err
	}
	var wrong []error // of one lane: the others go on
	for _, route := range from {
		wrong = append(wrong, r.beginRoute(ctx, route, left[route.Source.Queue]))
	}
	gone := byLane(snap.Gone)
	r.mu.Lock()
	outs := values(r.out)
	inbound := doc.RoutesTo(r.cfg.Site)
	r.inbound, r.routed = byLane(slices.Concat(snap.Gone, inbound)), map[federation.Lane]bool{}
	for _, route := range inbound {
		r.routed[route.Lane] = true
	}
	ins := values(r.in)
	r.current = snap
	r.mu.Unlock()
	for _, l := range outs {
		if route, ok := outbound[l.lane]; !ok {
			wrong = append(wrong, l.leave(ctx, gone[l.lane], left))
		} else if g, ok := gone[l.lane]; ok && g.Source.Queue != route.Source.Queue {
			r.leftovers.unbind(g.Source, left[g.Source.Queue])
		}
	}
	for _, l := range ins {
		l.poke()
	}
	self, _ := doc.Site(r.cfg.Site)
	r.cfg.Peers.SetPeers(doc.Peers(r.cfg.Site), len(self.Listen) > 0)
	if err := errors.Join(wrong...); err != nil {
		r.cfg.Topology.NotApplied(snap, err)
		return err
	}
	if err := r.cfg.Topology.Applied(ctx, snap); err != nil {
		return err
	}
	r.log.Info("topology in force", "version", snap.Version, "origin", snap.Origin)
	return nil
}

func byLane(routes []topology.Route) map[federation.Lane]topology.Route {
	m := make(map[federation.Lane]topology.Route, len(routes))
	for _, route := range routes {
		m[route.Lane] = route
	}
	return m
}

func byQueue(sources []federation.Source) map[string][]federation.Source {
	m := map[string][]federation.Source{}
	for _, s := range sources {
		m[s.Queue] = append(m[s.Queue], s)
	}
	return m
}

// beginRoute makes the lane's sealed destinations agree with the route, then takes from the broker. Left is what an earlier
// process may have bound the route's queue by.
func (r *Router) beginRoute(ctx context.Context, route topology.Route, left []federation.Source) error {
	dests := make([]federation.Destination, len(route.Destinations))
	for i, d := range route.Destinations {
		dests[i] = d.Destination
	}
	l, err := r.ensureOutLane(ctx, route.Lane, dests)
	if err != nil {
		return err
	}
	if have := l.destinations(); !sameDestinations(have, dests) {
		if err := l.stopIngest(ctx); err != nil {
			return err
		}
		l.hold(byTopology, fmt.Sprintf("route %s: its destinations are %v, the topology says %v; this version does not edit a route's destinations", route.Name, have, dests),
			"give the new destination set a route of its own, with another id")
		return nil
	}
	return l.follow(ctx, route, left)
}

func sameDestinations(a, b []federation.Destination) bool {
	if len(a) != len(b) {
		return false
	}
	for _, d := range a {
		if !slices.Contains(b, d) {
			return false
		}
	}
	return true
}

// ensureOutLane finds or begins a lane and starts its senders.
func (r *Router) ensureOutLane(ctx context.Context, lane federation.Lane, dests []federation.Destination) (*outLane, error) {
	r.mu.Lock()
	l := r.out[lane]
	work := r.ctx
	r.mu.Unlock()
	if l != nil {
		return l, nil
	}
	l, err := openOutLane(ctx, r, lane, dests)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.out[lane] = l
	r.mu.Unlock()
	l.forget()
	for _, s := range l.senders {
		r.start(func() { s.run(work) })
	}
	r.start(func() { r.fail(l.keepReceipts(work)) })
	return l, nil
}

// follow takes a route's messages, from its source of now. An unchanged route goes on as it is, and so does one whose
// queue is the same: its bindings change under it.
func (l *outLane) follow(ctx context.Context, route topology.Route, left []federation.Source) error {
	l.mu.Lock()
	l.class = route.ClassIndex
	in := l.in
	if in != nil && in.route.Source.Queue == route.Source.Queue {
		changed := in.route.Digest != route.Digest || in.detached || len(left) > 0
		in.route, in.detached = route, false
		l.mu.Unlock()
		if changed {
			in.consumer.SetSource(route.Source, left...)
		}
		return nil
	}
	l.mu.Unlock()
	if err := l.stopIngest(ctx); err != nil {
		return err
	}
	return l.startIngest(route, l.r.cfg.Broker.Consumer(route.Source, left...), false)
}

func (l *outLane) startIngest(route topology.Route, consumer Consumer, detached bool) error {
	in, err := newIngest(l, route, consumer)
	if err != nil {
		return errors.Join(err, consumer.Close(l.r.ctx))
	}
	in.detached = detached
	ctx, cancel := context.WithCancel(l.r.ctx)
	in.cancel, in.done = cancel, make(chan struct{})
	l.mu.Lock()
	l.in = in
	l.mu.Unlock()
	l.holdNothing()
	l.r.start(func() {
		defer close(in.done)
		l.r.fail(in.run(ctx))
	})
	return nil
}

// stopIngest stops taking and waits until nothing of it runs: until everything that was numbered is durable, which a store
// that is unwell keeps it from. What is sealed drains. After an error, the context's, it is still stopping.
func (l *outLane) stopIngest(ctx context.Context) error {
	l.mu.Lock()
	in := l.in
	l.mu.Unlock()
	if in == nil {
		return nil
	}
	in.cancel()
	select {
	case <-in.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	l.in = nil
	l.mu.Unlock()
	return nil
}

func (l *outLane) pokeSenders(peer federation.SiteID) {
	for _, s := range l.senders {
		if s.dest.Site == peer {
			s.poke()
		}
	}
}

// submit commits records that must be durable before the caller goes on.
func (r *Router) submit(ctx context.Context, records ...spool.Record) error {
	return r.cfg.Spool.Commit(ctx, records...)
}
