package router

import (
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// sealer makes batches of deliveries. One goroutine, ingest.seal, uses it.
type sealer struct {
	lane  *outLane
	coder *federation.Coder
	dups  uint64 // duplicates of the broker sealed so far
	rate  arrivalRate
}

func newSealer(l *outLane) (*sealer, error) {
	coder, err := federation.NewCoder()
	if err != nil {
		return nil, err
	}
	return &sealer{lane: l, coder: coder, dups: l.dups}, nil
}

// sealed is a batch with the records that make it durable. Its offsets are not assigned before bound.
type sealed struct {
	batch   *federation.Batch
	records []spool.Record
	dups    uint64
}

func (s *sealer) seal(list []taken, route topology.Route) (sealed, error) {
	l, now := s.lane, time.Now()
	l.mu.Lock()
	first, mark := l.next, l.mark
	l.mu.Unlock()
	dests := l.destinations()
	out := sealed{dups: s.dups}
	entries := make([]federation.Entry, len(list))
	for i, t := range list {
		entries[i] = s.entry(t, now, dests, route)
		if entries[i].Flags&federation.EntryDuplicate != 0 {
			out.dups++
		}
		if entries[i].Reason == reasonTooLarge {
			out.records = append(out.records, parkAtOrigin(l.lane, mark.Generation, first+federation.Offset(i), t, now))
		}
	}
	s.rate.add(len(list), now)
	err := s.close(&out, entries, first, dests, now)
	return out, err
}

// sealEntry makes a batch of one entry that was parked, with the record that ends its parking.
func (s *sealer) sealEntry(e federation.Entry, unpark spool.UnparkRecord) (sealed, error) {
	s.lane.mu.Lock()
	first := s.lane.next
	s.lane.mu.Unlock()
	now := time.Now()
	e.Flags |= federation.EntryRedriven | federation.EntryDuplicate
	out := sealed{dups: s.dups, records: []spool.Record{unpark}}
	err := s.close(&out, []federation.Entry{e}, first, s.lane.destinations(), now)
	return out, err
}

// close seals entries and adds the records of the batch.
func (s *sealer) close(out *sealed, entries []federation.Entry, first federation.Offset, dests []federation.Destination, now time.Time) error {
	l := s.lane
	gen := l.generation()
	h := federation.Header{Lane: l.lane, Generation: gen, First: first, SealEpoch: l.r.identity.Epoch, SealedAt: now, Destinations: dests}
	b, err := federation.Seal(h, entries, federation.CodecZstd, s.coder)
	if err != nil {
		return err
	}
	out.batch = b
	out.records = append(out.records, spool.BatchRecord{Batch: b}, spool.MarkRecord{
		Key:   federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: l.lane, Generation: gen},
		Value: federation.LaneHigh{LastAssigned: b.Header.Last(), IngestDuplicates: out.dups}.Encode()})
	return nil
}

// bound says that the store has the records: their offsets belong to these bytes for ever (4.2).
func (s *sealer) bound(x sealed) {
	s.dups = x.dups
	l := s.lane
	l.mu.Lock()
	l.next = x.batch.Header.Last() + 1
	l.dups = x.dups
	l.mu.Unlock()
}

// Reasons of tombstones that the origin seals.
const (
	reasonLoop     = "loop"
	reasonTooLarge = "too large"
)

func (s *sealer) entry(t taken, now time.Time, dests []federation.Destination, route topology.Route) federation.Entry {
	e := federation.Entry{Age: now.Sub(t.at).Truncate(time.Millisecond), TTL: federation.NoTTL, Message: t.Message}
	if t.Redelivered {
		e.Flags |= federation.EntryDuplicate
	}
	// Properties that cannot be read are carried as they are: the destination parks them with its reason.
	if facts, err := s.lane.r.cfg.Properties.Facts(t.Message.Properties); err == nil {
		e.Path, e.TTL = facts.Path, facts.TTL
		if facts.Transient {
			e.Flags |= federation.EntryTransient
		}
	}
	e.Excluded = excluded(e.Path, dests, route.MaxHops)
	switch {
	case e.Excluded == allOf(dests):
		return tombstone(e, reasonLoop)
	case route.MaxMessageSize > 0 && t.Message.Size() > route.MaxMessageSize:
		return tombstone(e, reasonTooLarge)
	}
	return e
}

func tombstone(e federation.Entry, reason string) federation.Entry {
	return federation.Entry{Kind: federation.EntryTombstone, Flags: e.Flags, Age: e.Age, TTL: federation.NoTTL, Excluded: e.Excluded, Reason: reason}
}

// excluded applies the loop rule: a destination that the message has visited does not get it again, and none does
// after maxHops sites.
func excluded(path []federation.SiteID, dests []federation.Destination, maxHops int) uint64 {
	if maxHops > 0 && len(path) >= maxHops {
		return allOf(dests)
	}
	var bits uint64
	for i, d := range dests {
		if slices.Contains(path, d.Site) {
			bits |= 1 << i
		}
	}
	return bits
}

func allOf(dests []federation.Destination) uint64 { return 1<<len(dests) - 1 }

func parkAtOrigin(lane federation.Lane, gen federation.Generation, at federation.Offset, t taken, now time.Time) spool.Record {
	e := federation.Entry{TTL: federation.NoTTL, Message: t.Message}
	if t.Redelivered {
		e.Flags |= federation.EntryDuplicate
	}
	return spool.ParkRecord{Lane: lane, Generation: gen, Offset: at, Destination: federation.Destination{Site: lane.Origin},
		Reason: reasonTooLarge, Errors: "larger than max-message-size of the route", First: now, Last: now, Entry: e}
}

// arrivalRate estimates messages per second from what the latest batches held.
type arrivalRate struct {
	last      time.Time
	perSecond float64
}

func (r *arrivalRate) add(n int, now time.Time) {
	if gap := now.Sub(r.last).Seconds(); !r.last.IsZero() && gap > 0 {
		weight := min(1, gap/rateMemory.Seconds())
		r.perSecond += weight * (float64(n)/gap - r.perSecond)
	}
	r.last = now
}

const (
	rateMemory = 100 * time.Millisecond
	// lingerWorth is how many messages a linger has to bring to be worth it: batches of 64 JSON events take 268 bytes a
	// message, of 256 take 227, of 16 take 307 (decisions.md, M8 and D12).
	lingerWorth = 48
)

// linger is how long a batch waits for more: not at all unless enough would come in that time.
func (s *sealer) linger(now time.Time) time.Duration {
	linger := s.lane.r.cfg.Linger
	if now.Sub(s.rate.last) > rateMemory || s.rate.perSecond*linger.Seconds() < lingerWorth {
		return 0
	}
	return linger
}
