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
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// OutLanes tells how the lanes that begin here are, by name.
func (r *Router) OutLanes() []admin.OutLane {
	r.mu.Lock()
	lanes := values(r.out)
	r.mu.Unlock()
	stored := map[federation.Lane][]spool.Extent{}
	for _, e := range r.cfg.Spool.Extents() {
		stored[e.Lane] = append(stored[e.Lane], e)
	}
	out := make([]admin.OutLane, 0, len(lanes))
	for _, l := range lanes {
		out = append(out, l.status(stored[l.lane]))
	}
	slices.SortFunc(out, func(a, b admin.OutLane) int { return strings.Compare(a.Lane, b.Lane) })
	return out
}

// bytesAbove is about how much of a lane's extents is above an offset: an extent that it divides counts by its offsets.
func bytesAbove(extents []spool.Extent, offset federation.Offset) (bytes uint64) {
	for _, e := range extents {
		if above := e.Last - min(e.Last, max(offset, e.First-1)); above > 0 {
			bytes += e.Bytes * uint64(above) / uint64(e.Last-e.First+1)
		}
	}
	return bytes
}

// firstOf is the oldest offset in extents; 0: there is none.
func firstOf(extents []spool.Extent) (first federation.Offset) {
	for _, e := range extents {
		if first == 0 || e.First < first {
			first = e.First
		}
	}
	return first
}

func (l *outLane) status(extents []spool.Extent) admin.OutLane {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.next - 1
	extents = slices.DeleteFunc(extents, func(e spool.Extent) bool { return e.Generation != l.mark.Generation })
	out := admin.OutLane{Lane: l.lane.String(), Generation: l.mark.Generation, LastAssigned: last,
		FirstStored: firstOf(extents), StoredBytes: bytesAbove(extents, 0), IngestDuplicates: l.dups, InPerSecond: l.speed.perSecond, LastIn: l.lastIn,
		Destinations: make([]admin.OutDestination, 0, len(l.senders))}
	for _, v := range l.voids {
		out.Voided += uint64(v.Span.Last - v.Span.First + 1)
	}
	out.Condition = l.datedLocked(l.conditionLocked(last))
	if l.in != nil {
		out.Route, out.Class, out.Source = l.in.route.Name, l.in.route.Class, whereFrom(l.in.route.Source)
	}
	least := last
	for _, s := range l.senders {
		out.Destinations = append(out.Destinations, s.statusLocked(last, extents))
		least = min(least, s.ledger.Done())
	}
	out.StoredMessages = uint64(last - least)
	return out
}

// datedLocked gives a condition that has no date of its own the time when it was first seen.
func (l *outLane) datedLocked(c admin.Condition) admin.Condition {
	if c.State != l.shown.State || c.Reason != l.shown.Reason {
		l.shown = c
		if c.Since.IsZero() {
			l.shown.Since = time.Now()
		}
	}
	if c.Since.IsZero() {
		c.Since = l.shown.Since
	}
	return c
}

// conditionLocked is that of taking from the broker.
func (l *outLane) conditionLocked(last federation.Offset) admin.Condition {
	switch held := l.holds.first(); {
	case held.reason != "":
		return admin.Condition{State: admin.Held, Reason: held.reason, Fix: held.fix, Since: held.since}
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

func (s *sender) statusLocked(last federation.Offset, extents []spool.Extent) admin.OutDestination {
	receipt, _ := s.ledger.Receipt()
	member := s.ledger.Membership()
	next, _ := s.ledger.Next(last)
	out := admin.OutDestination{Condition: admin.FromPart(s.state), Destination: s.dest.String(), NextHop: string(s.dest.Site), Join: member.Join,
		Leave: member.Leave, Sent: max(next, 1) - 1, Receipted: s.ledger.Done(), Counters: admin.FromCounters(receipt.Counters),
		BacklogMessages: uint64(last - min(last, s.ledger.Done())), Repairs: s.repairs, LastReceipt: s.moved, OutPerSecond: s.speed.perSecond}
	if stores := s.ledger.Dest(); !stores.Newest.IsZero() {
		out.Store = stores.Newest.String()
	}
	if out.BacklogMessages > 0 {
		out.BacklogBytes = bytesAbove(extents, s.ledger.Done())
		out.DrainSeconds = drainSeconds(out.BacklogMessages, s.speed.perSecond, s.lane.speed.perSecond)
		out.LagSeconds = time.Since(s.behindSinceLocked()).Seconds()
	}
	return out
}

// behindSinceLocked is when the oldest batch that is not receipted was sealed, as far as memory tells; else since when no
// receipt has come.
func (s *sender) behindSinceLocked() time.Time {
	for _, b := range s.lane.tail {
		if b.Header.First <= s.ledger.Done()+1 && b.Header.Last() > s.ledger.Done() {
			return b.Header.SealedAt
		}
	}
	return s.moved
}

func whereFrom(s federation.Source) string {
	if s.Exchange == "" {
		return s.String()
	}
	return fmt.Sprintf("%s (%s)", s, s.Queue)
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

// Topology is the snapshot in force.
func (r *Router) Topology() (version uint64, digest [32]byte, origin topology.Origin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.Version, r.current.Digest, r.current.Origin
}

// Books gives the balance of this site from durable state.
func (r *Router) Books(_ context.Context) (*admin.Books, error) {
	return Books(r.cfg.Spool, false)
}
