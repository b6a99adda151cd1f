package spool

import (
	"context"
	"errors"
	"io"
	"time"
)

// Segments is what a store implements: bytes, a barrier and the epoch claim. Everything above it (groups, LSNs, marks,
// scan, cleaning) is Spool's.
//
// # Contract
//
// Numbers name segments. Spool uses each number once per opening, in increasing order. A segment is written by one
// Writer, from its first byte to its last, and never again; it may be read at the same time.
//
// An error of Create, Write, Sync or Remove means "unknown": no effect, full effect, or, for Write, any part of it.
// After an error of Write or Sync Spool only closes that Writer and goes on in another segment; it never asks
// the same Writer again. A store reports two causes so that errors.Is finds them: ErrNoSpace (held, tried again) and
// ErrFenced (another process has claimed the store: final, nothing may be written any more).
//
// After a crash of the process or the machine:
//   - a segment whose Create returned nil exists, unless Remove was called for it;
//   - a segment whose Remove returned nil does not exist;
//   - its bytes begin with all that was written before the last Sync that returned nil. What follows may be cut anywhere,
//     and every byte of it may be what was written, zero, or garbage;
//   - what was never written reads as zeros or not at all.
//
// Claim, Create, Open, List, Remove, SetAside and Space may be called at once from several goroutines; a Writer by one
// at a time, a Reader by many.
type Segments interface {
	// Identify reads the identity as it stands, without a claim. ErrNotInitialised when there is none.
	Identify(ctx context.Context) (Identity, error)
	// Claim takes the store for this process, raises the epoch durably to NextEpoch and returns the
	// identity with that epoch. It refuses a store that another process (or another opening in this one) holds, with
	// ErrHeld, and one that was never initialised, with ErrNotInitialised. Nothing is ever initialised here.
	Claim(ctx context.Context, now time.Time) (Identity, error)
	// List gives all segments by number. Size may lag behind for the segment that is being written.
	List(ctx context.Context) ([]SegmentInfo, error)
	// Create makes an empty segment; its name is durable when Create returns nil. An error wraps fs.ErrExist when the
	// number is taken.
	Create(ctx context.Context, number uint64) (Writer, error)
	// Open reads a segment. An error wraps fs.ErrNotExist when there is none.
	Open(ctx context.Context, number uint64) (Reader, error)
	// Remove deletes a segment durably; of one that does not exist it returns nil. Readers that are open go on.
	Remove(ctx context.Context, number uint64) error
	// Space tells how many bytes can still be written, and how many there are in all.
	Space(ctx context.Context) (free, total uint64, err error)
	// SetAside takes n bytes of the store's space away for Claim and for what is written when there is no other space:
	// before the store answers ErrNoSpace it gives them back and tries again by itself. Space does not count them as
	// free. They stay set aside over openings. It does nothing when so many are set aside already; after an error any
	// part of them may be.
	SetAside(ctx context.Context, n uint64) error
	// Place names the store for people, so that they know which disk is meant: its folder.
	Place() string
	// Alignment is the unit in bytes to which groups are padded: 8 on localdir and memstore, 512 on hdfs. A power of
	// two, 8 to 4096.
	Alignment() int
	// Close releases the claim. Writers and Readers that are still open fail from then on.
	Close() error
}

// SegmentInfo is one segment of a store.
type SegmentInfo struct {
	Number uint64
	Size   int64 // bytes that reading can reach
}

// Writer appends to one segment.
type Writer interface {
	// Write appends p. It does not keep p. An error leaves any part of p appended.
	Write(p []byte) (int, error)
	// Sync makes all bytes written so far durable. nil: they are. An error: nobody knows.
	Sync(ctx context.Context) error
	// Close releases the handle. It makes nothing durable.
	Close() error
}

// Reader reads one segment.
type Reader interface {
	io.ReaderAt
	// Size is the bytes that can be read at this moment; it grows while the segment is being written. An error: nobody
	// knows; never is a segment empty because its store failed.
	Size() (int64, error)
	Close() error
}

// Errors of Segments that Spool or its callers act on.
var (
	ErrHeld           = errors.New("the store is held by another process")
	ErrNotInitialised = errors.New("the store was never initialised")
	ErrNoSpace        = errors.New("no space left in the store")
	ErrFenced         = errors.New("the store was claimed by another process")
)
