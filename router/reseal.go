package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// Reseal makes a store that got a new identity (it was rewound or cloned) fit for use: what its lanes hold without a
// receipt is sealed again under a new generation, flagged, and what it remembers as a destination is forgotten, so that
// the origins tell it where to go on (SYNC), as they tell a store that is new (design 5, 6.3).
//
// Messages that cannot be read (corrupt, or missing) are never passed in silence: they are an *admin.Error that names them,
// before their lane is touched; or, with the word of q.Void, they are given up, in the audits, as VOIDs of the old
// generation, and in the result.
//
// Nothing may run on the spool but its Run. After an error it is to be called again: each call begins generations of its
// own, and what an earlier one left half done is given up with the generation that it belongs to.
func Reseal(ctx context.Context, sp *spool.Spool, site federation.SiteID, q ResealRequest) (*ResealResult, error) {
	out := &ResealResult{}
	var bytes uint64
	for key, value := range sp.Marks(federation.MarkLane) {
		if key.Lane.Origin != site {
			continue
		}
		mark, err := federation.ParseLaneMark(value)
		if err != nil {
			return out, fmt.Errorf("lane %s: %w", key.Lane, err)
		}
		lane, err := newResealing(sp, key.Lane, mark)
		if err != nil {
			return out, err
		}
		done, err := lane.run(ctx, q)
		bytes += lane.bytes
		if errors.Is(err, spool.ErrFull) {
			return out, noRoom(sp, bytes)
		}
		if err != nil {
			return out, fmt.Errorf("lane %s: %w", key.Lane, err)
		}
		out.Lanes = append(out.Lanes, done)
	}
	if q.DryRun {
		if u := sp.Usage(); u.Used+bytes+u.Reserve > u.Quota || bytes+u.Reserve > u.Free {
			return out, noRoom(sp, bytes)
		}
		return out, nil
	}
	if err := sp.Commit(ctx, forgetJournals(sp, q)...); err != nil {
		return out, err
	}
	out.Durable = true
	return out, nil
}

// noRoom is the refusal of a reseal for which the store has too little room: what it seals again stands there twice until it is done.
func noRoom(sp *spool.Spool, bytes uint64) error {
	const mib = 1 << 20
	u := sp.Usage()
	used := u.Used + bytes
	quota := (used+max(u.Reserve, used/19))/mib + 1 // a twentieth of a quota is its reserve
	return admin.Errorf(admin.Refused, fmt.Sprintf("raise store.quota to %dMiB or more until it is done, with as much room on the disk, and repeat it", quota),
		"a reseal writes %d bytes again before it can free them; the store uses %d of its quota of %d, keeps %d in reserve, and its disk has %d free", bytes, u.Used, u.Quota, u.Reserve, u.Free)
}

// forgetJournals ends every journal of the store: an empty value stands for none.
func forgetJournals(sp *spool.Spool, q ResealRequest) []spool.Record {
	records := []spool.Record{spool.AuditRecord{Who: q.Who, What: "reseal: " + q.Why, At: time.Now()}}
	for key := range sp.Marks(federation.MarkJournal) {
		records = append(records, spool.MarkRecord{Key: key})
	}
	return records
}

// resealing seals one lane again.
type resealing struct {
	sp       *spool.Spool
	lane     federation.Lane
	old      federation.LaneMark
	mark     federation.LaneMark // of the new generation
	receipts []federation.Offset // by member: what it has receipted
	last     federation.Offset   // of the old generation
	voids    []federation.Void   // of the old generation: not sealed again
	lost     lost                // of the old generation: what cannot be read
	coder    *federation.Coder
	bytes    uint64 // about what is written for the new generation
}

// batchOverhead is more than the heads of a group and a record take.
const batchOverhead = 128

func newResealing(sp *spool.Spool, lane federation.Lane, old federation.LaneMark) (*resealing, error) {
	coder, err := federation.NewCoder()
	if err != nil {
		return nil, err
	}
	born := sp.Identity().Born.UnixMilli()
	assigned, err := storedNumbering(sp, lane, old)
	if err != nil {
		return nil, err
	}
	r := &resealing{sp: sp, lane: lane, old: old, coder: coder, last: assigned.last, voids: assigned.voids, mark: federation.LaneMark{
		Generation: max(federation.Generation(born), federation.Generation(time.Now().UnixMilli()), old.Generation+1), Previous: old.Generation, Shards: old.Shards, RouteDigest: old.RouteDigest}}
	for _, m := range old.Members {
		done := m.Join - 1
		rc, has, err := storedReceipt(sp, lane, old.Generation, m.Destination)
		if err != nil {
			return nil, err
		}
		if has {
			done = rc.Done
		}
		r.receipts = append(r.receipts, done)
		r.mark.Members = append(r.mark.Members, federation.Membership{Destination: m.Destination, Join: 1})
	}
	r.mark.PreviousEnd = r.last
	return r, nil
}

// run seals batch by batch, and at the end, in one group, begins the new generation and gives up what the old one held.
func (r *resealing) run(ctx context.Context, q ResealRequest) (Resealed, error) {
	out := Resealed{Lane: r.lane.String(), Old: r.old.Generation, Generation: r.mark.Generation}
	first := r.last + 1
	for _, done := range r.receipts {
		first = min(first, done+1)
	}
	next := federation.Offset(1)
	for at := first; at <= r.last; {
		if last, ok := r.neededByNone(at); ok {
			at = last + 1
			continue
		}
		n, last, err := r.seal(ctx, at, next, q)
		if err != nil {
			return out, err
		}
		next, at = next+n, last+1
	}
	out.Messages, out.Voided = uint64(next-1), r.lost.names()
	if len(r.lost.spans) > 0 && !q.Void {
		return out, r.lost.refusal(r.lane, r.old.Generation)
	}
	if q.DryRun {
		return out, nil
	}
	return out, r.begin(ctx, first, next-1, q)
}

// seal seals the batch that holds an offset, and tells how many entries it has and which is its last. An offset that cannot be
// read is noted as lost.
func (r *resealing) seal(ctx context.Context, at, next federation.Offset, q ResealRequest) (n, last federation.Offset, err error) {
	b, err := r.sp.Read(ctx, r.lane, r.old.Generation, at)
	if err == nil && b.Header.First > at {
		err = spool.ErrNone
	}
	if err == nil {
		r.bytes += uint64(len(b.Bytes())) + batchOverhead
		n, err = r.again(ctx, b, next, q.DryRun || len(r.lost.spans) > 0 && !q.Void)
		last = b.Header.Last()
	} else {
		last = at
	}
	if errors.Is(err, federation.ErrCorrupt) || errors.Is(err, spool.ErrNone) {
		r.lost.add(federation.Span{First: at, Last: last}, err)
		return 0, last, nil
	}
	return n, last, err
}

// neededByNone tells whether every destination has receipted an offset or was given up for it, and up to which one: it need not
// be readable.
func (r *resealing) neededByNone(at federation.Offset) (last federation.Offset, ok bool) {
	for i, m := range r.mark.Members {
		until, voided := voidedFor(r.voids, m.Destination, at)
		if r.receipts[i] >= at {
			until, voided = max(until, r.receipts[i]), true
		}
		if !voided {
			return 0, false
		}
		if i == 0 || until < last {
			last = until
		}
	}
	return last, len(r.mark.Members) > 0
}

// again seals a batch under the new generation: its entries flagged, each excluded from those that have receipted it.
func (r *resealing) again(ctx context.Context, b *federation.Batch, first federation.Offset, dryRun bool) (federation.Offset, error) {
	entries, err := b.Open(r.coder)
	if err != nil {
		return 0, err
	}
	dests := make([]federation.Destination, len(r.mark.Members))
	for i, m := range r.mark.Members {
		dests[i] = m.Destination
	}
	for i := range entries {
		e := &entries[i]
		e.Flags |= federation.EntryDuplicate
		e.Excluded = r.excluded(b, e.Excluded, b.Header.First+federation.Offset(i))
	}
	if dryRun {
		return federation.Offset(len(entries)), nil
	}
	h := federation.Header{Lane: r.lane, Generation: r.mark.Generation, First: first, SealEpoch: r.sp.Identity().Epoch, SealedAt: b.Header.SealedAt, Destinations: dests}
	sealed, err := federation.Seal(h, entries, b.Header.Codec, r.coder)
	if err != nil {
		return 0, err
	}
	return federation.Offset(len(entries)), r.sp.Commit(ctx, spool.BatchRecord{Batch: sealed})
}

// excluded is the bitmap over the new destinations: those that had the loop rule against them, did not belong to the batch,
// or have receipted the offset.
func (r *resealing) excluded(b *federation.Batch, before uint64, at federation.Offset) uint64 {
	var bits uint64
	for i, m := range r.mark.Members {
		was := indexOf(b.Header.Destinations, m.Destination)
		_, voided := voidedFor(r.voids, m.Destination, at)
		if was >= len(b.Header.Destinations) || before&(1<<was) != 0 || at <= r.receipts[i] || voided {
			bits |= 1 << i
		}
	}
	return bits
}

func (r *resealing) begin(ctx context.Context, first, last federation.Offset, q ResealRequest) error {
	records := []spool.Record{laneRecord(r.lane, r.mark),
		spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: r.lane, Generation: r.mark.Generation}, Value: federation.LaneHigh{LastAssigned: last}.Encode()}}
	if first <= r.last {
		void := federation.VoidMark{Voids: givenUp(r.voids, r.lost.spans, federation.Span{First: first, Last: r.last}, q.Who)}
		records = append(records, spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkVoid, Lane: r.lane, Generation: r.old.Generation}, Value: void.Encode()})
	}
	if len(r.lost.spans) > 0 {
		what := fmt.Sprintf("reseal abandoned %s of %s, generation %d, which cannot be read: %s", r.lost.text(), r.lane, r.old.Generation, q.Why)
		records = append(records, spool.AuditRecord{Who: q.Who, What: what, At: time.Now()})
	}
	if err := r.sp.Commit(ctx, records...); err != nil {
		return err
	}
	r.sp.Forget(r.lane, r.old.Generation, r.last)
	return nil
}
