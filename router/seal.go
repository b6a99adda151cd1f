package router

import (
	"errors"
	"fmt"
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

// seal makes a batch of deliveries. A message that is not for any destination, or that no batch takes, leaves a
// tombstone in its place: it never stops the others. The error is about their sum.
func (s *sealer) seal(list []takenDelivery, route topology.Route) (sealed, error) {
	now, dests := time.Now(), s.lane.destinations()
	out := sealed{dups: s.dups}
	entries, buried := make([]federation.Entry, len(list)), make([]string, len(list))
	for i, t := range list {
		entries[i] = s.entry(t, now)
		entries[i].Excluded = s.loops(&entries[i], dests, route.MaxHops)
		buried[i] = whyBuried(&entries[i], dests, route)
		if entries[i].Flags&federation.EntryDuplicate != 0 {
			out.dups++
		}
	}
	s.rate.add(len(list), now)
	err := s.close(&out, entries, buried, dests, now)
	if err != nil && !errors.Is(err, federation.ErrTooLarge) && findUnsealable(entries, buried) {
		err = s.close(&out, entries, buried, dests, now)
	}
	return out, err
}

// findUnsealable marks the entries that no batch takes, and tells whether there is one.
func findUnsealable(entries []federation.Entry, buried []string) (found bool) {
	for i := range entries {
		if buried[i] != "" {
			continue
		}
		if _, err := federation.AppendEntry(nil, &entries[i]); err != nil {
			buried[i], found = ReasonBadProperties, true
		}
	}
	return found
}

// sealEntry makes a batch of one entry that was parked, with the record that ends its parking.
func (s *sealer) sealEntry(p spool.ParkRecord, unpark spool.UnparkRecord, route topology.Route) (sealed, error) {
	now, dests := time.Now(), s.lane.destinations()
	e := p.Entry
	e.Flags |= federation.EntryRedriven | federation.EntryDuplicate
	e.Age = max(0, now.Sub(p.Taken)).Truncate(time.Millisecond)
	e.Excluded = s.loops(&e, dests, route.MaxHops)
	out := sealed{dups: s.dups, records: []spool.Record{unpark}}
	err := s.close(&out, []federation.Entry{e}, []string{whyBuried(&e, dests, topology.Route{})}, dests, now)
	return out, err
}

// close seals entries and adds the records of the batch. What is buried stays here when it is parked, and leaves a
// tombstone.
func (s *sealer) close(out *sealed, entries []federation.Entry, buried []string, dests []federation.Destination, now time.Time) error {
	l := s.lane
	l.mu.Lock()
	first, gen := l.next, l.mark.Generation
	l.mu.Unlock()
	var parks []spool.Record
	for i, reason := range buried {
		if parksAtOrigin(reason) {
			parks = append(parks, parkAtOrigin(l.lane, gen, first+federation.Offset(i), entries[i], reason, now))
		}
	}
	l.r.residence.observe(now)
	h := federation.Header{Lane: l.lane, Generation: gen, First: first, SealEpoch: l.r.identity.Epoch, SealedAt: now, Destinations: dests}
	b, err := federation.Seal(h, withTombstones(entries, buried), federation.CodecZstd, s.coder)
	if err != nil {
		return err
	}
	out.batch = b
	out.records = append(append(out.records, parks...), spool.BatchRecord{Batch: b}, spool.MarkRecord{
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

// reasonLoop is why an entry is a tombstone that every destination of which has the message already. The other reasons
// of tombstones are those of parking.
const reasonLoop = "loop"

// parksAtOrigin tells whether the message of a tombstone with the reason is parked where it entered.
func parksAtOrigin(reason string) bool {
	return reason == ReasonTooLarge || reason == ReasonBadProperties
}

// entry is what is sealed of a delivery. Properties that cannot be read are carried as they are: the destination parks
// them with its reason.
func (s *sealer) entry(t takenDelivery, now time.Time) federation.Entry {
	e := federation.Entry{Age: now.Sub(t.at).Truncate(time.Millisecond), TTL: federation.NoTTL, Message: t.Message}
	if t.Redelivered {
		e.Flags |= federation.EntryDuplicate
	}
	facts, err := s.lane.r.cfg.Properties.Facts(t.Message.Properties)
	e.Path = facts.Path
	if err == nil {
		e.TTL = facts.TTL
	}
	if facts.Transient {
		e.Flags |= federation.EntryTransient
	}
	return e
}

// whyBuried is the reason of the tombstone that an entry becomes, empty when it is for somebody.
func whyBuried(e *federation.Entry, dests []federation.Destination, route topology.Route) string {
	switch {
	case e.Excluded == allOf(dests):
		return reasonLoop
	case route.MaxMessageSize > 0 && e.Message.Size() > route.MaxMessageSize:
		return ReasonTooLarge
	}
	return ""
}

// withTombstones are the entries as they are sealed: most batches have nothing buried.
func withTombstones(entries []federation.Entry, buried []string) []federation.Entry {
	out := entries
	for i, reason := range buried {
		if reason == "" {
			continue
		}
		if &out[0] == &entries[0] {
			out = slices.Clone(entries)
		}
		out[i] = tombstone(entries[i], reason)
	}
	return out
}

func tombstone(e federation.Entry, reason string) federation.Entry {
	return federation.Entry{Kind: federation.EntryTombstone, Flags: e.Flags, Age: e.Age, TTL: federation.NoTTL, Excluded: e.Excluded, Reason: reason}
}

// parkAtOrigin keeps a message with its path and its lifetime: sealed again, it goes on where it was.
func parkAtOrigin(lane federation.Lane, gen federation.Generation, at federation.Offset, e federation.Entry, reason string, now time.Time) spool.Record {
	taken := now.Add(-e.Age)
	e.Age, e.Excluded = 0, 0
	text := fmt.Sprintf("exchange, routing key, properties (headers) and body have %d bytes together, over max-message-size of the route", e.Message.Size())
	if reason == ReasonBadProperties {
		e.Path, e.TTL, text = nil, federation.NoTTL, "no batch takes it as it is"
	}
	return spool.ParkRecord{Lane: lane, Generation: gen, Offset: at, Destination: federation.Destination{Site: lane.Origin},
		Reason: reason, Errors: text, First: now, Last: now, Taken: taken, Entry: e}
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
