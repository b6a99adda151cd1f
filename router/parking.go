package router

import (
	"context"
	"slices"

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
		Destination: p.ID.Destination.String(), Reason: p.Reason, LastTry: p.Last, Bytes: p.Bytes}
}

func (r *Router) chooseParked(f admin.ParkFilter) []spool.ParkedInfo {
	named := map[string]bool{}
	for _, name := range f.IDs {
		named[name] = true
	}
	all := slices.DeleteFunc(r.cfg.Spool.Parked(), func(p spool.ParkedInfo) bool {
		return f.Lane != "" && p.ID.Lane.String() != f.Lane || f.Destination != "" && p.ID.Destination.String() != f.Destination ||
			f.Reason != "" && p.Reason != f.Reason || len(named) > 0 && !named[ParkName(p.ID)]
	})
	slices.SortFunc(all, func(a, b spool.ParkedInfo) int { return comparePark(a.ID, b.ID) })
	return all
}

// checkNames refuses what names no parked message anywhere: mistyped, it would seem to be done already.
func checkNames(names []string) error {
	for _, name := range names {
		if _, err := ParseParkName(name); err != nil {
			return err
		}
	}
	return nil
}

// ShowParked gives a parked message with its content.
func (r *Router) ShowParked(ctx context.Context, name string) (*admin.ParkedMessage, error) {
	id, err := ParseParkName(name)
	if err != nil {
		return nil, err
	}
	chosen := r.chooseParked(admin.ParkFilter{IDs: []string{ParkName(id)}})
	if len(chosen) == 0 {
		return nil, admin.Errorf(admin.NotFound, "cloudqueue parking list", "'%s' is not parked here", name)
	}
	p, err := r.cfg.Spool.ReadPark(ctx, id)
	if err != nil {
		return nil, admin.Errorf(admin.Unavailable, "repair the store", "%s cannot be read: %v", name, err)
	}
	line := parkedLine(chosen[0])
	line.Errors, line.Attempts, line.FirstTry = p.Errors, p.Attempts, p.First
	out := &admin.ParkedMessage{Parked: line, Exchange: p.Entry.Message.Exchange, RoutingKey: p.Entry.Message.RoutingKey, Raw: p.Entry.Message.Properties,
		Body: p.Entry.Message.Body, Duplicate: p.Entry.Flags&federation.EntryDuplicate != 0}
	if p.Entry.TTL != federation.NoTTL {
		seconds := p.Entry.TTL.Seconds()
		out.TTLSeconds = &seconds
	}
	for _, s := range p.Entry.Path {
		out.Path = append(out.Path, string(s))
	}
	return out, nil
}
