package spool

import (
	"errors"
	"fmt"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	ErrFull     = errors.New("the spool is full")           // quota: batches and parks are refused, marks always have room
	ErrLaneFull = errors.New("the lane's quota is used up") // this lane alone
	ErrClosed   = errors.New("the spool is closed")
	ErrNone     = errors.New("no batch at or after this offset")
	ErrReadOnly = errors.New("the spool was opened read-only")
)

// CorruptError says what is not as it was written. It wraps federation.ErrCorrupt. Nothing of it is ever served.
type CorruptError struct {
	Segment uint64
	Offset  int64          // position in the segment, -1 when the segment is missing
	LSN     federation.LSN // of the first group that is lost; 0 when it is not known
	Last    federation.LSN // of the last group that is lost; 0 when it is not known
	What    string
	// Batch is the one that cannot be served; its Lane is zero when it is not known what the stretch held.
	Batch federation.BatchName
	// Marks tells that journals, receipts and other marks may be lost: nothing of the spool can be trusted.
	Marks bool
}

// Error says where and what, and what the admin can do.
func (e *CorruptError) Error() string {
	where := fmt.Sprintf("segment %d at byte %d", e.Segment, e.Offset)
	if e.Offset < 0 {
		where = fmt.Sprintf("segment %d", e.Segment)
	}
	if e.LSN != 0 {
		where += fmt.Sprintf(" (groups %d to %d)", e.LSN, e.Last)
	}
	switch {
	case e.Batch.Lane != (federation.Lane{}):
		return fmt.Sprintf("%s: %s: the lane stops at %s; put the segment back, or give the offsets up: cloudqueue spool void %s FIRST-LAST --reason corrupt", where, e.What, e.Batch, e.Batch.Lane)
	case e.Marks:
		return fmt.Sprintf("%s: %s: marks may be lost, so nothing is served; put the segment back, or, with the router stopped, give the stretch up: cloudqueue spool void --corrupt, then cloudqueue spool new-id", where, e.What)
	default:
		return fmt.Sprintf("%s: %s: what it held is not known, so lanes stop where something is missing; put the segment back, or, with the router stopped, give the stretch up: cloudqueue spool void --corrupt", where, e.What)
	}
}

// Unwrap gives federation.ErrCorrupt.
func (e *CorruptError) Unwrap() error { return federation.ErrCorrupt }
