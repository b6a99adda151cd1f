package spool

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"cloudqueue/federation"
)

// recovery finds out what a store holds. It reads the newest segments whole, back to the one with a complete
// CHECKPOINT, and of the older ones their footers: its time does not depend on the backlog. It writes nothing.
//
// One rule says which groups count: in the order of segments, LSNs are consecutive, and a group counts where it stands
// last. A segment that goes on from an earlier one begins with the groups whose outcome was not known there, so
// whatever the earlier one holds at or above that LSN is a copy, or was cut by an opening in between.
type recovery struct {
	store    Segments
	identity Identity
	logger   *slog.Logger
	accept   bool // an admin has abandoned what is corrupt

	found     []*foundSegment // by number
	base      int             // index of the segment with the newest complete CHECKPOINT
	complete  *checkpoint     // that CHECKPOINT; nil: the log was read from its beginning
	state     *state
	moved     map[uint64]bool
	durable   federation.LSN // the highest LSN that anything says was durable
	held      []heldGroup    // groups at the end that nothing says were durable, by LSN
	leftovers []uint64       // segments that hold nothing, newest first
	stretches []*CorruptError
	cache     *extentCache // gets the extents of scanned segments
}

// foundSegment is a segment of the listing.
type foundSegment struct {
	number  uint64
	size    int64
	header  segmentHeader
	bad     string // why its header cannot be used
	blank   bool   // with a bad header: nothing stands behind its place
	segment *segment
	first   federation.LSN // of the first group that counts here, held ones too; 0 none
	last    federation.LSN // of the last one
	limit   federation.LSN // the first LSN that counts in a later segment; 0 none
	skipped bool           // groups at or above the limit stand here
	ending  ending
}

// heldGroup is a group at the end of the log, whole.
type heldGroup struct {
	groupHeader
	body     []byte
	position int64 // of the body
}

// run does everything. Afterwards state is what the store holds up to the last group that something says was durable,
// and held is what follows.
func (r *recovery) run(ctx context.Context) error {
	r.state, r.moved = newState(), make(map[uint64]bool)
	for _, step := range []func(context.Context) error{r.readHeaders, r.scanNewest, r.heldMoved, r.checkChain,
		r.readOlder} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	r.state.parks.prune()
	return nil
}

func (r *recovery) readHeaders(ctx context.Context) error {
	infos, err := r.store.List(ctx)
	if err != nil {
		return fmt.Errorf("list segments: %w", err)
	}
	slices.SortFunc(infos, func(a, b SegmentInfo) int { return cmp.Compare(a.Number, b.Number) })
	for _, info := range infos {
		f := &foundSegment{number: info.Number}
		err := r.read(ctx, info.Number, func(reader Reader) (err error) {
			if f.size, err = reader.Size(); err != nil {
				return err
			}
			f.header, f.bad, f.blank, err = readHeader(reader, f.size, info.Number, r.identity)
			return err
		})
		if err != nil {
			return err
		}
		r.found = append(r.found, f)
	}
	return nil
}

func (r *recovery) read(ctx context.Context, number uint64, use func(Reader) error) error {
	reader, err := r.store.Open(ctx, number)
	if err != nil {
		return fmt.Errorf("open segment %d: %w", number, err)
	}
	if err := use(reader); err != nil {
		_ = reader.Close() // nothing was written
		return fmt.Errorf("read segment %d: %w", number, err)
	}
	if err := reader.Close(); err != nil {
		return fmt.Errorf("close segment %d: %w", number, err)
	}
	return nil
}

// scanNewest reads segments from the newest back to the one with a complete CHECKPOINT.
func (r *recovery) scanNewest(ctx context.Context) error {
	var limit federation.LSN
	for i := len(r.found) - 1; i >= 0 && r.complete == nil; i-- {
		f := r.found[i]
		f.limit, r.base = limit, i
		if f.bad != "" {
			if err := r.badHeader(f); err != nil {
				return err
			}
			continue
		}
		if err := r.scanWhole(ctx, f); err != nil {
			return err
		}
		if f.first != 0 {
			limit = f.first
		}
	}
	return nil
}

// badHeader regards a segment as corrupt unless it was only being opened ahead: it holds nothing, and nobody says that
// it held groups.
func (r *recovery) badHeader(f *foundSegment) error {
	named := slices.ContainsFunc(r.found, func(o *foundSegment) bool {
		return o.bad == "" && o.number > f.number && o.header.previous == f.number
	})
	if f.blank && !named {
		r.leftovers = append(r.leftovers, f.number)
		return nil
	}
	return r.corrupt(&CorruptError{Segment: f.number, What: f.bad, Marks: true})
}

// corrupt notes what is not as it was written. Where marks may be lost it is an error, unless an admin has abandoned
// the stretch.
func (r *recovery) corrupt(c *CorruptError) error {
	r.logger.Error("store corrupt", "segment", c.Segment, "offset", c.Offset, "first", c.LSN, "last", c.Last,
		"what", c.What, "marks", c.Marks, "accepted", r.accept)
	switch {
	case r.accept:
	case c.Marks:
		return c
	default:
		r.stretches = append(r.stretches, c)
	}
	return nil
}

// checkChain follows the LSNs through the scanned segments.
func (r *recovery) checkChain(context.Context) error {
	next := federation.LSN(1)
	if r.complete != nil {
		next = 0 // what is older is in the CHECKPOINT's segment table
	}
	for i, f := range r.found[r.base:] {
		if f.segment == nil {
			continue
		}
		if err := r.checkPrevious(f, r.found[r.base+i+1:]); err != nil {
			return err
		}
		if next != 0 && f.first > next {
			err := r.corrupt(&CorruptError{Segment: f.number, Offset: segmentHeaderSize, LSN: next, Last: f.first - 1,
				What: "the groups before this segment are missing", Marks: true})
			if err != nil {
				return err
			}
		}
		if f.last != 0 {
			next = max(next, f.last+1)
		}
		if err := r.checkEnding(f, next); err != nil {
			return err
		}
	}
	r.state.last = max(next, 1) - 1
	if n := len(r.held); n > 0 {
		r.state.last = r.held[0].lsn - 1
	}
	if r.accept {
		r.state.last = max(r.state.last, r.durable)
	}
	return nil
}

// checkEnding decides at the first bad group, which should have LSN x: corrupt when anything behind it says that x was
// durable, else the end of the log.
func (r *recovery) checkEnding(f *foundSegment, x federation.LSN) error {
	if f.ending.claimed < x || f.limit != 0 && x >= f.limit {
		return nil
	}
	return r.corrupt(&CorruptError{Segment: f.number, Offset: f.ending.end, LSN: x, Last: f.ending.claimed,
		What: "a group that was durable is bad", Marks: true})
}

// checkPrevious finds a lost newest segment: the one that was opened ahead after it, and holds no group, still names
// it.
func (r *recovery) checkPrevious(f *foundSegment, later []*foundSegment) error {
	p := f.header.previous
	superseded := slices.ContainsFunc(later, func(o *foundSegment) bool { return o.first != 0 })
	exists := slices.ContainsFunc(r.found, func(o *foundSegment) bool { return o.number == p })
	if f.first != 0 || superseded || exists || p < r.found[r.base].number && r.complete != nil || p == 0 {
		return nil
	}
	return r.corrupt(&CorruptError{Segment: p, Offset: -1, What: "the segment is missing", Marks: true})
}
