// Package spool is the durable log of one router: batches, marks and parked messages of all lanes in one sequence of groups.
package spool

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"cloudqueue/federation"
)

// Errors that callers act on.
var (
	ErrFull     = errors.New("the spool is full")           // quota: batches and parks are refused, marks always have room
	ErrLaneFull = errors.New("the lane's quota is used up") // this lane alone
	ErrClosed   = errors.New("the spool is closed")
	ErrNone     = errors.New("no batch at or after this offset")
)

// Config of a spool. Zero values are the defaults.
type Config struct {
	SegmentSize    int64  // bytes after which a segment is closed; 0: 64 MiB
	Quota          uint64 // bytes of the store that may be used in all; 0: what the store had free at Open and what it used already, less 5 %
	Reserve        uint64 // bytes of Quota that only marks, checkpoints and cleaning use; 0: the greater of 4 segments and Quota/20
	LaneQuota      uint64 // bytes that one lane may store; 0: no limit of its own
	MaxQueuedBytes int    // bytes of submitted records that wait for the store before Submit blocks; 0: 32 MiB
	MaxParked      int    // parked messages; 0: 100,000
	Logger         *slog.Logger
}

// Spool is the durable log. All methods may be called at once.
type Spool struct{}

// Ticket follows one submission.
type Ticket struct{}

// Extent says what of a lane and generation is stored.
type Extent struct {
	Lane           federation.Lane
	Generation     federation.Generation
	First, Last    federation.Offset
	Batches, Bytes uint64
}

// ParkedInfo is one line of the parking's index.
type ParkedInfo struct {
	ID     ParkID
	Reason string
	Last   time.Time
	Bytes  uint64
}

// Usage says how full the spool is.
type Usage struct {
	Used, Quota, Reserve, Free uint64 // bytes; Free is the store's own word
	Segments                   int
	Lanes                      map[federation.Lane]uint64 // live bytes per lane
	Queued                     int                        // bytes submitted and not yet durable
	Full                       bool                       // batches are refused
}

// Health says whether commits succeed.
type Health struct {
	Err      error // the last store error, nil when well
	Since    time.Time
	Attempts int // of the group that waits
}

func Open(ctx context.Context, store Segments, cfg Config) (*Spool, error)         { panic("soon") }
func OpenReadOnly(ctx context.Context, store Segments, cfg Config) (*Spool, error) { panic("soon") }
func (s *Spool) Run(ctx context.Context) error                                     { panic("soon") }
func (s *Spool) Identity() Identity                                                { panic("soon") }
func (s *Spool) LastLSN() federation.LSN                                           { panic("soon") }
func (s *Spool) Submit(ctx context.Context, records ...Record) (*Ticket, error)    { panic("soon") }
func (s *Spool) Commit(ctx context.Context, records ...Record) error               { panic("soon") }
func (t *Ticket) Done() <-chan struct{}                                            { panic("soon") }
func (t *Ticket) Wait(ctx context.Context) error                                   { panic("soon") }
func (s *Spool) Mark(key federation.MarkKey) ([]byte, bool)                        { panic("soon") }
func (s *Spool) Marks(kind federation.MarkKind) map[federation.MarkKey][]byte      { panic("soon") }
func (s *Spool) Read(ctx context.Context, lane federation.Lane, gen federation.Generation, from federation.Offset) (*federation.Batch, error) {
	panic("soon")
}
func (s *Spool) Extents() []Extent { panic("soon") }
func (s *Spool) Forget(lane federation.Lane, gen federation.Generation, upTo federation.Offset) {
	panic("soon")
}
func (s *Spool) Parked() []ParkedInfo                                        { panic("soon") }
func (s *Spool) ReadPark(ctx context.Context, id ParkID) (ParkRecord, error) { panic("soon") }
func (s *Spool) Usage() Usage                                                { panic("soon") }
func (s *Spool) Health() Health                                              { panic("soon") }
func (s *Spool) Close(ctx context.Context) error                             { panic("soon") }
