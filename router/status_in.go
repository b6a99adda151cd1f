package router

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// InLanes tells how the lanes that end here are, by name. Those of the store that no origin has opened since the start are among them.
func (r *Router) InLanes() []admin.InLane {
	r.mu.Lock()
	opened := maps.Clone(r.in)
	r.mu.Unlock()
	out := make([]admin.InLane, 0, len(opened))
	store := r.storeState()
	for _, l := range opened {
		out = append(out, l.status(store))
	}
	for key, kept := range r.unopened(opened) {
		out = append(out, r.unopenedStatus(key, kept))
	}
	slices.SortFunc(out, func(a, b admin.InLane) int {
		return cmp.Or(strings.Compare(a.Lane, b.Lane), strings.Compare(a.Destination, b.Destination))
	})
	return out
}

func (l *inLane) status(store federation.PartState) admin.InLane {
	locks := l.r.owners.state()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := admin.InLane{Condition: admin.FromPart(overStore(l.loss.shownOn(l.state, time.Now()), store)), Lane: l.key.lane.String(), Generation: l.gen, Destination: l.key.dest.String(),
		From: string(l.key.lane.Origin), WindowBytes: uint64(l.window.Used()), LastPublished: l.last, LagSeconds: l.lag.Seconds(), OutPerSecond: l.speed.perSecond, Duplicates: l.dropped}
	if locks != nil {
		out.Condition = admin.FromPart(*locks)
	}
	for _, a := range l.held {
		out.WindowMessages += uint64(a.batch.Header.Count)
	}
	if l.journal == nil {
		return out
	}
	durable := l.journal.Durable()
	if w := l.wrong; locks == nil && w.state.Reason != "" && w.done == durable.Done {
		out.Condition = admin.FromPart(w.state)
	}
	out.Join, out.Done, out.Reserved, out.NextWanted = durable.Join, durable.Done, durable.Reserved, durable.Done+1
	out.Counters, out.Unconfirmed = admin.FromCounters(durable.Counters), uint64(l.journal.Unfinished())
	return out
}

// keptJournal is a journal that the store has, of the latest generation of its lane.
type keptJournal struct {
	generation federation.Generation
	journal    federation.Journal
}

// unopened are the journals of the store that are not of an opened lane. One that cannot be read is left to books, which names it.
func (r *Router) unopened(opened map[inKey]*inLane) map[inKey]keptJournal {
	found := map[inKey]keptJournal{}
	for at, value := range r.cfg.Spool.Marks(federation.MarkJournal) {
		key := inKey{at.Lane, at.Dest}
		if opened[key] != nil || len(value) == 0 || at.Generation < found[key].generation {
			continue
		}
		if journal, err := federation.ParseJournal(value); err == nil {
			found[key] = keptJournal{at.Generation, journal}
		}
	}
	return found
}

func (r *Router) unopenedStatus(key inKey, kept keptJournal) admin.InLane {
	j := kept.journal
	out := admin.InLane{Condition: admin.Condition{State: admin.Starting, Reason: "its origin has not opened it since this router started"},
		Lane: key.lane.String(), Generation: kept.generation, Destination: key.dest.String(), From: string(key.lane.Origin),
		Join: j.Join, Done: j.Done, Reserved: j.Reserved, NextWanted: j.Done + 1, Counters: admin.FromCounters(j.Counters)}
	if route := r.inboundRoute(key.lane); route.Lane != key.lane {
		out.State, out.Reason = admin.Closed, "its route is not in the topology"
	}
	return out
}
