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

// Drop ends parking for good, with the admin's word in the log.
func (r *Router) Drop(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	if a.Why == "" {
		return nil, admin.Errorf(admin.BadRequest, "say why: --why", "a drop needs a reason")
	}
	return r.eachParked(ctx, a, func(ctx context.Context, p spool.ParkedInfo) (unparked, error) {
		return r.unpark(ctx, p.ID, "dropped", a)
	})
}

// Redrive publishes parked messages again, flagged. A message that its origin parked is sealed again there.
func (r *Router) Redrive(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	return r.eachParked(ctx, a, func(ctx context.Context, p spool.ParkedInfo) (unparked, error) {
		record, err := r.cfg.Spool.ReadPark(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		if p.ID.Lane.Origin == r.cfg.Site {
			return r.sealAgain(ctx, record, a)
		}
		if err := r.publishParked(ctx, record); err != nil {
			return nil, err
		}
		return r.unpark(ctx, p.ID, "redriven", a)
	})
}

// unparked waits until the end of a message's parking is durable.
type unparked func(context.Context) error

// eachParked does one thing to every chosen message, one admin at a time; those on which it failed stay parked. The ends of
// many parkings share a group of the store: none is waited for before all are asked for.
func (r *Router) eachParked(ctx context.Context, a admin.ParkAction, do func(context.Context, spool.ParkedInfo) (unparked, error)) (*admin.ParkResult, error) {
	if err := checkNames(a.Filter.IDs); err != nil {
		return nil, err
	}
	leave, err := r.enterRepair(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	chosen := r.chooseParked(a.Filter)
	if a.Filter.Limit > 0 {
		chosen = chosen[:min(a.Filter.Limit, len(chosen))]
	}
	waits := make([]unparked, len(chosen))
	for i, p := range chosen {
		err := r.passed(p.ID)
		if err == nil {
			waits[i], err = do(ctx, p)
		}
		if err != nil {
			waits[i] = func(context.Context) error { return err }
		}
	}
	out := &admin.ParkResult{}
	for i, p := range chosen {
		if err := waits[i](ctx); err != nil {
			out.Failed = append(out.Failed, admin.ParkFailed{ID: ParkName(p.ID), Error: err.Error()})
			continue
		}
		out.Done++
	}
	return out, ctx.Err()
}

// passed: while done has not passed a parked offset durably, its PARK is what keeps it from being published again.
func (r *Router) passed(id spool.ParkID) error {
	if id.Lane.Origin == r.cfg.Site {
		return nil
	}
	value, ok := r.cfg.Spool.Mark(federation.MarkKey{Kind: federation.MarkJournal, Lane: id.Lane, Generation: id.Generation, Dest: id.Destination})
	if !ok || len(value) == 0 {
		return nil
	}
	if j, err := federation.ParseJournal(value); err != nil || j.Done < id.Offset {
		return admin.Errorf(admin.Refused, "try again in a moment", "the lane has not passed the message yet")
	}
	return nil
}

func (r *Router) unpark(ctx context.Context, id spool.ParkID, outcome string, a admin.ParkAction) (unparked, error) {
	ticket, err := r.cfg.Spool.Submit(ctx, spool.UnparkRecord{Park: id, Outcome: outcome, Who: a.Who, Why: a.Why, At: time.Now()})
	if err != nil {
		return nil, err
	}
	return ticket.Wait, nil
}

// publishParked publishes on a channel of its own, whose owner lock is counted as every other.
func (r *Router) publishParked(ctx context.Context, p spool.ParkRecord) error {
	if p.Entry.TTL == 0 {
		return admin.Errorf(admin.Refused, "drop it", "the message's own lifetime was over when it was parked")
	}
	if r.redriver == nil {
		pub, err := r.owners.take(ctx)
		if err != nil {
			return err
		}
		r.redriver = pub
	}
	m := p.Entry.Message
	route := r.inboundRoute(p.Lane)
	to, ok := addressOf(route, p.Destination)
	if !ok {
		return admin.Errorf(admin.Refused, "apply a topology that has it", "route %s is not in the topology: where its messages go is not known", p.Lane.Route)
	}
	m.Exchange, m.RoutingKey = to.Address(&p.Entry.Message)
	if m.Exchange != "" {
		if err := r.cfg.Broker.CheckExchange(ctx, m.Exchange, route.OnMissingExchange.Declare); err != nil {
			return err
		}
	}
	props, err := r.cfg.Properties.Deliver(m.Properties, DeliveryEdit{ID: federation.BatchName{Lane: p.Lane, Generation: p.Generation, First: p.Offset}.String(),
		Origin: p.Lane.Origin, Path: append(slices.Clone(p.Entry.Path), p.Lane.Origin), Time: p.Taken, Duplicate: true, Remaining: p.Entry.TTL, TrustUserID: route.TrustUserID})
	if err != nil {
		return err
	}
	m.Properties = props
	return r.publishOnce(ctx, m, p.Reason == ReasonRefused)
}

// publishOnce waits for the outcome. What the broker refused once may close the connection: it is published on one of the redriver's own.
func (r *Router) publishOnce(ctx context.Context, m federation.Message, apart bool) error {
	incarnation, err := r.redriver.Acquire(ctx, apart)
	if err != nil {
		return err
	}
	done := make(chan federation.Outcome, 1)
	if err := r.redriver.Publish(ctx, incarnation, m, func(o federation.Outcome) { done <- o }); err != nil {
		return err
	}
	select {
	case o := <-done:
		if o.Kind != federation.Confirmed {
			return fmt.Errorf("%s: %d %s", o.Kind, o.Code, o.Text)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sealAgain gives a message that was parked at its origin a new offset; the end of its parking is in the same group.
func (r *Router) sealAgain(ctx context.Context, p spool.ParkRecord, a admin.ParkAction) (unparked, error) {
	r.mu.Lock()
	l := r.out[p.Lane]
	r.mu.Unlock()
	if l == nil {
		return nil, admin.Errorf(admin.NotFound, "", "this site has no lane %s", p.Lane)
	}
	l.mu.Lock()
	in := l.in
	l.mu.Unlock()
	if in == nil {
		return nil, admin.Errorf(admin.Refused, "apply a topology with the route", "lane %s takes nothing at present", p.Lane)
	}
	route := in.current()
	if limit := route.MaxMessageSize; limit > 0 && p.Entry.Message.Size() > limit {
		return nil, admin.Errorf(admin.Refused, "raise max-message-size of route "+route.Name, "the message has %d bytes, the route takes %d", p.Entry.Message.Size(), limit)
	}
	req := redrive{park: p, unpark: spool.UnparkRecord{Park: p.ID(), Outcome: "redriven", Who: a.Who, Why: a.Why, At: time.Now()}, done: make(chan error, 1)}
	select {
	case in.redrives <- req:
	case <-in.done:
		return nil, admin.Errorf(admin.Unavailable, "try again", "the lane is being changed")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return func(ctx context.Context) error {
		select {
		case err := <-req.done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}, nil
}
