package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// Parked lists what is parked here, in the order of lane, generation, offset and destination.
func (r *Router) Parked(_ context.Context, f admin.ParkFilter) (*admin.ParkedList, error) {
	chosen := r.chooseParked(f)
	out := &admin.ParkedList{Total: uint64(len(chosen))}
	limit := f.Limit
	if limit <= 0 {
		limit = admin.DefaultParkLimit
	}
	if f.After != "" {
		after, err := ParseParkName(f.After)
		if err != nil {
			return nil, err
		}
		// By order, not by name: the message itself may be gone since.
		chosen = slices.DeleteFunc(chosen, func(p spool.ParkedInfo) bool { return comparePark(p.ID, after) <= 0 })
	}
	limit = min(limit, admin.MaxParkLimit)
	out.More = len(chosen) > limit
	for _, p := range chosen[:min(limit, len(chosen))] {
		out.Parked = append(out.Parked, parkedLine(p))
	}
	return out, nil
}

func parkedLine(p spool.ParkedInfo) admin.Parked {
	return admin.Parked{ID: ParkName(p.ID), Lane: p.ID.Lane.String(), Generation: p.ID.Generation, Offset: p.ID.Offset,
		Destination: p.ID.Destination.String(), Reason: p.Reason, Last: p.Last, Bytes: p.Bytes}
}

// ParkName writes a park's name as people type it: lane@generation:offset>destination.
func ParkName(id spool.ParkID) string {
	return fmt.Sprintf("%s@%d:%d>%s", id.Lane, id.Generation, id.Offset, id.Destination)
}

// ParseParkName reads what ParkName writes.
func ParseParkName(name string) (spool.ParkID, error) {
	bad := admin.Errorf(admin.BadRequest, "names look like ams/orders@1764534000000:12>nyc: cloudqueue parking list", "%q names no parked message", name)
	head, dest, ok1 := strings.Cut(name, ">")
	head, offset, ok2 := cutLast(head, ":")
	laneName, gen, ok3 := cutLast(head, "@")
	lane, err := federation.ParseLane(laneName)
	if !ok1 || !ok2 || !ok3 || err != nil {
		return spool.ParkID{}, bad
	}
	g, err1 := strconv.ParseUint(gen, 10, 64)
	n, err2 := strconv.ParseUint(offset, 10, 64)
	site, target, hasTarget := strings.Cut(dest, ":")
	id := spool.ParkID{Lane: lane, Generation: federation.Generation(g), Offset: federation.Offset(n), Destination: federation.Destination{Site: federation.SiteID(site)}}
	if hasTarget {
		t, err := strconv.ParseUint(target, 10, 8)
		if err != nil {
			return spool.ParkID{}, bad
		}
		id.Destination.Target = uint8(t)
	}
	if err1 != nil || err2 != nil {
		return spool.ParkID{}, bad
	}
	return id, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (r *Router) chooseParked(f admin.ParkFilter) []spool.ParkedInfo {
	all := slices.DeleteFunc(r.cfg.Spool.Parked(), func(p spool.ParkedInfo) bool {
		return f.Lane != "" && p.ID.Lane.String() != f.Lane || f.Destination != "" && p.ID.Destination.String() != f.Destination ||
			f.Reason != "" && p.Reason != f.Reason || len(f.IDs) > 0 && !slices.Contains(f.IDs, ParkName(p.ID))
	})
	slices.SortFunc(all, func(a, b spool.ParkedInfo) int { return comparePark(a.ID, b.ID) })
	return all
}

func comparePark(a, b spool.ParkID) int {
	return cmp.Or(strings.Compare(a.Lane.String(), b.Lane.String()), cmp.Compare(a.Generation, b.Generation),
		cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Destination.String(), b.Destination.String()))
}

// ShowParked gives a parked message with its content.
func (r *Router) ShowParked(ctx context.Context, name string) (*admin.ParkedMessage, error) {
	id, err := ParseParkName(name)
	if err != nil {
		return nil, err
	}
	chosen := r.chooseParked(admin.ParkFilter{IDs: []string{ParkName(id)}})
	if len(chosen) == 0 {
		return nil, admin.Errorf(admin.NotFound, "cloudqueue parking list", "%s is not parked here", name)
	}
	p, err := r.cfg.Spool.ReadPark(ctx, id)
	if err != nil {
		return nil, admin.Errorf(admin.Unavailable, "repair the store", "%s cannot be read: %v", name, err)
	}
	line := parkedLine(chosen[0])
	line.Errors, line.Attempts, line.First = p.Errors, p.Attempts, p.First
	out := &admin.ParkedMessage{Parked: line, Exchange: p.Entry.Message.Exchange, RoutingKey: p.Entry.Message.RoutingKey, Raw: p.Entry.Message.Properties,
		Body: p.Entry.Message.Body, Duplicate: p.Entry.Flags&federation.EntryDuplicate != 0, TTLSeconds: -1}
	if p.Entry.TTL != federation.NoTTL {
		out.TTLSeconds = p.Entry.TTL.Seconds()
	}
	for _, s := range p.Entry.Path {
		out.Path = append(out.Path, string(s))
	}
	return out, nil
}

// Drop ends parking for good, with the admin's word in the log.
func (r *Router) Drop(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	if a.Why == "" {
		return nil, admin.Errorf(admin.BadRequest, "say why: --why", "a drop needs a reason")
	}
	return r.eachParked(ctx, a, func(ctx context.Context, p spool.ParkedInfo) error { return r.unpark(ctx, p.ID, "dropped", a) })
}

// Redrive publishes parked messages again, flagged. A message that its origin parked is sealed again there.
func (r *Router) Redrive(ctx context.Context, a admin.ParkAction) (*admin.ParkResult, error) {
	return r.eachParked(ctx, a, func(ctx context.Context, p spool.ParkedInfo) error {
		record, err := r.cfg.Spool.ReadPark(ctx, p.ID)
		if err != nil {
			return err
		}
		if p.ID.Lane.Origin == r.cfg.Site {
			return r.sealAgain(ctx, record, a)
		}
		if err := r.publishParked(ctx, record); err != nil {
			return err
		}
		return r.unpark(ctx, p.ID, "redriven", a)
	})
}

// eachParked does one thing to every chosen message, one admin at a time; those on which it failed stay parked.
func (r *Router) eachParked(ctx context.Context, a admin.ParkAction, do func(context.Context, spool.ParkedInfo) error) (*admin.ParkResult, error) {
	leave, err := r.enterRepair(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	out := &admin.ParkResult{}
	chosen := r.chooseParked(a.Filter)
	if a.Filter.Limit > 0 {
		chosen = chosen[:min(a.Filter.Limit, len(chosen))]
	}
	for _, p := range chosen {
		err := r.passed(p.ID)
		if err == nil {
			err = do(ctx, p)
		}
		if err != nil {
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

func (r *Router) unpark(ctx context.Context, id spool.ParkID, outcome string, a admin.ParkAction) error {
	return r.submit(ctx, spool.UnparkRecord{Park: id, Outcome: outcome, Who: a.Who, Why: a.Why, At: time.Now()})
}

// publishParked publishes on a channel of its own, whose owner lock is counted as every other.
func (r *Router) publishParked(ctx context.Context, p spool.ParkRecord) error {
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
func (r *Router) sealAgain(ctx context.Context, p spool.ParkRecord, a admin.ParkAction) error {
	r.mu.Lock()
	l := r.out[p.Lane]
	r.mu.Unlock()
	if l == nil {
		return admin.Errorf(admin.NotFound, "", "this site has no lane %s", p.Lane)
	}
	l.mu.Lock()
	in := l.in
	l.mu.Unlock()
	if in == nil {
		return admin.Errorf(admin.Refused, "apply a topology with the route", "lane %s takes nothing at present", p.Lane)
	}
	route := in.current()
	if limit := route.MaxMessageSize; limit > 0 && p.Entry.Message.Size() > limit {
		return admin.Errorf(admin.Refused, "raise max-message-size of route "+route.Name, "the message has %d bytes, the route takes %d", p.Entry.Message.Size(), limit)
	}
	req := redrive{park: p, unpark: spool.UnparkRecord{Park: p.ID(), Outcome: "redriven", Who: a.Who, Why: a.Why, At: time.Now()}, done: make(chan error, 1)}
	select {
	case in.redrives <- req:
	case <-in.done:
		return admin.Errorf(admin.Unavailable, "try again", "the lane is being changed")
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-req.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
