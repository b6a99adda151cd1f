package spool

import (
	"errors"
	"fmt"
	"math"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	// quota: batches and parks are refused, marks always have room
	ErrFull     = errors.New("the spool is full")
	ErrLaneFull = errors.New("the lane's quota is used up") // this lane alone: others have room
	ErrClosed   = errors.New("the spool is closed")
	ErrNone     = errors.New("no batch at or after this offset")
	ErrReadOnly = errors.New("the spool was opened read-only")
)

// DiskFullError is an ErrFull for want of space on the store's disk: a larger quota does not help.
type DiskFullError struct {
	Place string // the store
	Kept  uint64 // bytes of its disk that are for marks, checkpoints and cleaning alone
	Disk  uint64 // bytes that the disk has in all; 0 when Kept is
}

// Small tells that the disk is smaller than what is kept of it: also an empty one takes nothing.
func (e *DiskFullError) Small() bool { return e.Disk < e.Kept }

// Error says which disk; the same all the time that it is full.
func (e *DiskFullError) Error() string {
	if e.Small() {
		return fmt.Sprintf("the disk of %s has %d KiB, less than the %d KiB that are kept for what drains: it takes no message",
			e.Place, e.Disk>>10, e.Kept>>10)
	}
	return fmt.Sprintf("the disk of %s is full: it has less than the %d KiB that are kept for what drains", e.Place,
		e.Kept>>10)
}

// Fix says what helps.
func (e *DiskFullError) Fix() string {
	if e.Small() {
		return smallerQuota(e.Place, e.Disk)
	}
	return "free space on the disk of " + e.Place + ": it goes on by itself"
}

// smallerQuota says which quota a disk of this size takes: what Config has for none, and segments of which it holds at
// least eight.
func smallerQuota(place string, disk uint64) string {
	quota := disk / 20 * 19 >> 20
	if quota < 8 { // segments of store.segment-size have 1 MiB or more
		return "put the store in " + place + " on a larger disk"
	}
	return fmt.Sprintf("in the router's file: store.quota: %dMiB, and no store.segment-size over %dMiB; then restart the router",
		quota, min(quota/8, maxSegmentSize>>20))
}

// Is tells that it is an ErrFull.
func (e *DiskFullError) Is(target error) bool { return target == ErrFull }

// CorruptError says what is not as it was written; Fix says what to do. It wraps federation.ErrCorrupt. Nothing of it
// is ever served.
type CorruptError struct {
	Segment uint64
	Offset  int64          // position in the segment, -1 when the segment is missing
	LSN     federation.LSN // of the first group that is lost; 0 when it is not known
	Last    federation.LSN // of the last group that is lost; 0 when it is not known
	What    string
	// Batch is the one that cannot be served; its Lane is zero when it is not known what the stretch held.
	Batch federation.BatchName
	Count uint32 // of its messages, or of the offsets from First on that are missing; 0 when that is not known
	// Marks tells that journals, receipts and other marks may be lost: nothing of the spool can be trusted.
	Marks bool
}

// of says which offsets of a lane are missing because of it.
func (e *CorruptError) of(key laneKey, missing federation.Span) *CorruptError {
	e.Batch = federation.BatchName{Lane: key.lane, Generation: key.generation, First: missing.First}
	e.Count = uint32(min(missing.Last-missing.First+1, math.MaxUint32)) // beyond it the void is typed twice
	return e
}

// Error says where and what.
func (e *CorruptError) Error() string {
	text := fmt.Sprintf("segment %d at byte %d", e.Segment, e.Offset)
	if e.Offset < 0 {
		text = fmt.Sprintf("segment %d", e.Segment)
	}
	if e.LSN != 0 {
		text += fmt.Sprintf(" (groups %d to %d)", e.LSN, e.Last)
	}
	text += ": " + e.What
	switch {
	case e.Batch.Lane != (federation.Lane{}):
		text += fmt.Sprintf(": the lane stops at %s", e.Batch)
	case e.Marks:
		text += ": marks may be lost, so nothing is served"
	}
	return text
}

// Fix says what the admin can do.
func (e *CorruptError) Fix() string {
	const abandonStretch = "with the router stopped, abandon the stretch: cloudqueue spool void --corrupt --why REASON --yes"
	abandon := abandonStretch + "; until then lanes stop where something is missing"
	switch first := e.Batch.First; {
	case e.Count > 0:
		abandon = abandonOffsets(e.Batch.Lane, fmt.Sprintf("%d-%d", first, first+federation.Offset(e.Count)-1))
	case e.Batch.Lane != (federation.Lane{}):
		abandon = abandonOffsets(e.Batch.Lane, "FIRST-LAST")
	case e.Marks:
		abandon = abandonStretch + ", then cloudqueue spool new-id"
	}
	return "put the segment back from a backup, or " + abandon
}

func abandonOffsets(lane federation.Lane, span string) string {
	return fmt.Sprintf("abandon the offsets: cloudqueue spool void %s %s --reason %s --yes", lane, span,
		federation.VoidCorrupt)
}

// Unwrap gives federation.ErrCorrupt.
func (e *CorruptError) Unwrap() error { return federation.ErrCorrupt }
