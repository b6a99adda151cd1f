package router

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// Void gives offsets of a lane that begins here up for ever, with the admin's word in the log: the only way but a receipt
// by which the origin forgets. The destinations learn of it by SYNC.
func (r *Router) Void(ctx context.Context, q admin.VoidRequest) (*admin.VoidResult, error) {
	l, gen, err := r.voidTarget(q)
	if err != nil {
		return nil, err
	}
	out := &admin.VoidResult{Generation: gen, Messages: l.unreceipted(q)}
	if out.Messages == 0 {
		return nil, admin.Errorf(admin.Refused, "see what waits: cloudqueue status", "offsets %d to %d of %s are receipted: there is nothing to abandon", q.First, q.Last, l.lane)
	}
	if q.DryRun {
		return out, nil
	}
	leave, err := r.enterRepair(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	voids, err := storedVoids(r.cfg.Spool, l.lane, gen)
	if err != nil {
		return nil, err
	}
	if len(voids.Voids) >= federation.MaxVoids {
		return nil, admin.Errorf(admin.Refused, "abandon longer spans", "lane %s has %d voids in this generation, as many as there can be", l.lane, len(voids.Voids))
	}
	v := federation.Void{Span: federation.Span{First: q.First, Last: q.Last}, Reason: q.Reason, Who: q.Who, At: time.Now()}
	for _, name := range q.Destinations {
		v.Destinations = append(v.Destinations, l.named(name))
	}
	voids.Voids = append(voids.Voids, v)
	key := federation.MarkKey{Kind: federation.MarkVoid, Lane: l.lane, Generation: gen}
	err = r.submit(ctx, spool.MarkRecord{Key: key, Value: voids.Encode()},
		spool.AuditRecord{Who: q.Who, What: fmt.Sprintf("void %s@%d %d-%d: %s", l.lane, gen, q.First, q.Last, q.Reason), At: time.Now()})
	if err != nil {
		return nil, err
	}
	out.Durable = true
	l.gaveUp(voids.Voids)
	return out, nil
}

// gaveUp takes note of the lane's durable voids and tells the destinations, also those that hold what was given up.
func (l *outLane) gaveUp(voids []federation.Void) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.voids = voids
	for _, s := range l.senders {
		s.tellVoids()
		s.poke()
	}
}

// enterRepair lets one admin at a time change what is stored.
func (r *Router) enterRepair(ctx context.Context) (leave func(), err error) {
	select {
	case r.repairing <- struct{}{}:
		return func() { <-r.repairing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// unreceipted counts the offsets of a void that some destination of it has not receipted.
func (l *outLane) unreceipted(q admin.VoidRequest) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := q.Last
	for _, s := range l.senders {
		if len(q.Destinations) == 0 || slices.Contains(q.Destinations, s.dest.String()) {
			done = min(done, s.ledger.Done())
		}
	}
	return above(federation.Span{First: q.First, Last: q.Last}, done)
}

func (r *Router) voidTarget(q admin.VoidRequest) (*outLane, federation.Generation, error) {
	lane, err := federation.ParseLane(q.Lane)
	if err != nil {
		return nil, 0, admin.Errorf(admin.BadRequest, "lanes look like ams/orders: cloudqueue status", "%v", err)
	}
	r.mu.Lock()
	l := r.out[lane]
	r.mu.Unlock()
	if l == nil {
		return nil, 0, admin.Errorf(admin.NotFound, "only its origin can void a lane", "lane %s does not begin at this site", lane)
	}
	l.mu.Lock()
	gen, last := l.mark.Generation, l.next-1
	l.mu.Unlock()
	if q.Generation != 0 && q.Generation != gen {
		return nil, 0, admin.Errorf(admin.BadRequest, fmt.Sprintf("the present generation is %d", gen), "generation %d of %s is over", q.Generation, lane)
	}
	if q.First < 1 || q.Last < q.First || q.Last > last {
		return nil, 0, admin.Errorf(admin.BadRequest, fmt.Sprintf("offsets go from 1 to %d", last), "no offsets %d to %d", q.First, q.Last)
	}
	for _, name := range q.Destinations {
		if l.named(name).Site == "" {
			return nil, 0, admin.Errorf(admin.BadRequest, "cloudqueue status shows them", "lane %s has no destination %s", lane, name)
		}
	}
	return l, gen, nil
}

// named gives a destination of the lane by its name; its site is empty when there is none.
func (l *outLane) named(name string) federation.Destination {
	i := slices.IndexFunc(l.senders, func(s *sender) bool { return s.dest.String() == name })
	if i < 0 {
		return federation.Destination{}
	}
	return l.senders[i].dest
}
