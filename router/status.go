package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// OutLanes tells how the lanes that begin here are, by name.
func (r *Router) OutLanes() []admin.OutLane {
	r.mu.Lock()
	lanes := values(r.out)
	r.mu.Unlock()
	stored := map[federation.Lane]extent{}
	for _, e := range r.cfg.Spool.Extents() {
		x := stored[e.Lane]
		x.first, x.bytes = e.First, x.bytes+e.Bytes
		stored[e.Lane] = x
	}
	out := make([]admin.OutLane, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l.status(stored[l.lane]))
	}
	slices.SortFunc(out, func(a, b admin.OutLane) int { return strings.Compare(a.Lane, b.Lane) })
	return out
}

// extent is what of a lane is stored, over all generations.
type extent struct {
	first federation.Offset
	bytes uint64
}

func (l *outLane) status(x extent) admin.OutLane {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.next - 1
	out := admin.OutLane{Lane: l.lane.String(), Generation: l.mark.Generation, Class: className(l.class), LastAssigned: last,
		FirstStored: x.first, StoredBytes: x.bytes, IngestDuplicates: l.dups}
	out.Condition = l.condition(last)
	if l.in != nil {
		out.Route, out.Source = l.in.route.Name, sourceText(l.in.route.Source)
	}
	least := last
	for _, s := range l.senders {
		out.Destinations = append(out.Destinations, s.status(last, x.bytes))
		least = min(least, s.ledger.Done())
	}
	out.StoredMessages = uint64(last - least)
	return out
}

// condition is that of taking from the broker. Callers hold mu.
func (l *outLane) condition(last federation.Offset) admin.Condition {
	switch {
	case l.held != "":
		return admin.Condition{State: admin.Held, Reason: l.held, Fix: l.heldFix, Since: l.heldSince}
	case l.in != nil:
		at := admin.FromPart(l.in.consumer.State())
		if !l.in.detached || !at.State.Healthy() {
			return at
		}
		if queue := l.in.route.Source.Queue; at.State != admin.Closed {
			return admin.Condition{State: admin.Draining, Reason: "its route is not in the topology, and its queue drains", Since: at.Since,
				Fix: "when the queue is empty: rabbitmqctl delete_queue --if-empty " + queue}
		}
	}
	for _, s := range l.senders {
		if s.ledger.Done() < last {
			return admin.Condition{State: admin.Draining, Reason: "its route is not in the topology"}
		}
	}
	return admin.Condition{State: admin.Closed, Reason: "its route is not in the topology"}
}

func (s *sender) status(last federation.Offset, storedBytes uint64) admin.OutDestination {
	receipt, _ := s.ledger.Receipt()
	member := s.ledger.Membership()
	next, _ := s.ledger.Next(last)
	out := admin.OutDestination{Condition: admin.FromPart(s.state), Destination: s.dest.String(), NextHop: string(s.dest.Site), Join: member.Join,
		Leave: member.Leave, Sent: max(next, 1) - 1, Receipted: s.ledger.Done(), Counters: admin.FromCounters(receipt.Counters),
		BacklogMessages: uint64(last - min(last, s.ledger.Done())), Repairs: s.repairs, LastReceipt: s.moved}
	if stores := s.ledger.Dest(); !stores.Newest.IsZero() {
		out.Store = stores.Newest.String()
	}
	if out.BacklogMessages > 0 {
		out.BacklogBytes = storedBytes
		out.LagSeconds = time.Since(s.behindSince()).Seconds()
	}
	return out
}

// behindSince is when the oldest batch that is not receipted was sealed, as far as memory tells; else since when no
// receipt has come. Callers hold lane.mu.
func (s *sender) behindSince() time.Time {
	for _, b := range s.lane.tail {
		if b.Header.First <= s.ledger.Done()+1 && b.Header.Last() > s.ledger.Done() {
			return b.Header.SealedAt
		}
	}
	return s.moved
}

func className(index uint8) string {
	if names := [...]string{"urgent", "normal", "bulk"}; int(index) < len(names) {
		return names[index]
	}
	return ""
}

func sourceText(s federation.Source) string {
	if s.Exchange == "" {
		return "queue " + s.Queue
	}
	return "exchange " + s.Exchange + " (" + s.Queue + ")"
}

// InLanes tells how the lanes that end here are, by name. Lanes of the store that nobody opened yet are among them.
func (r *Router) InLanes() []admin.InLane {
	r.mu.Lock()
	lanes := values(r.in)
	r.mu.Unlock()
	out := make([]admin.InLane, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l.status())
	}
	slices.SortFunc(out, func(a, b admin.InLane) int {
		return cmp.Or(strings.Compare(a.Lane, b.Lane), strings.Compare(a.Destination, b.Destination))
	})
	return out
}

func (l *inLane) status() admin.InLane {
	locks := l.r.owners.state()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := admin.InLane{Condition: admin.FromPart(l.state), Lane: l.key.lane.String(), Generation: l.gen, Destination: l.key.dest.String(),
		From: string(l.key.lane.Origin), WindowBytes: uint64(l.window.Used()), LastPublished: l.last, Duplicates: l.dropped}
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
	out.Join, out.Done, out.Reserved, out.NextWanted = durable.Join, durable.Done, durable.Reserved, durable.Done+1
	out.Counters, out.Unconfirmed = admin.FromCounters(durable.Counters), uint64(l.journal.Unfinished())
	return out
}

// Publishers tells how the publishing channels are, with the owner lock that each holds or waits for.
func (r *Router) Publishers() []admin.Publisher {
	o := r.owners
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]admin.Publisher, 0, len(o.pubs))
	for i, p := range o.pubs {
		out = append(out, admin.Publisher{Condition: admin.FromPart(p.State()), Index: i, LockQueue: fmt.Sprintf("cq.owner.%s.%d", r.cfg.Site, i)})
	}
	slices.SortFunc(out, func(a, b admin.Publisher) int { return cmp.Compare(a.Index, b.Index) })
	return out
}

// Refusals counts what was turned away since the start, by what it was and why.
func (r *Router) Refusals() []admin.Refusal {
	var out []admin.Refusal
	for key, n := range r.refused.snapshot() {
		what, reason, _ := strings.Cut(key, ": ")
		out = append(out, admin.Refusal{What: what, Count: admin.Count{Reason: reason, Count: n}})
	}
	slices.SortFunc(out, func(a, b admin.Refusal) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Reason, b.Reason))
	})
	return out
}

// Topology is the snapshot in force.
func (r *Router) Topology() (version uint64, digest [32]byte, origin string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.Version, r.current.Digest, r.current.Origin
}

// Books gives the balance of this site from durable state.
func (r *Router) Books(_ context.Context) (*admin.Books, error) {
	return Books(r.cfg.Spool, r.cfg.Site, false)
}
