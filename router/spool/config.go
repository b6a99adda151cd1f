package spool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Config of a spool. Zero values are the defaults.
type Config struct {
	// SegmentSize is the bytes after which a segment is closed; 0: 64 MiB, or Quota/16 when that is less. 4 KiB to 1
	// GiB.
	SegmentSize int64
	// Quota is the bytes of the store that may be used in all; 0: 95 % of what was free at Open and what was used
	// already. At least 8 segments.
	Quota uint64
	// Reserve is the bytes of Quota that only marks, checkpoints and cleaning use; 0: the greater of 4 segments and
	// Quota/20. At least 2 segments.
	Reserve uint64
	// LaneQuota is the bytes of batches that one lane may have stored; 0: half of Quota, so that the backlog of one
	// dead destination leaves the other lanes their room (G6). At Quota or above it limits nothing.
	LaneQuota uint64
	// MaxQueuedBytes is the bytes of records that wait for the store before Submit blocks; 0: 32 MiB.
	MaxQueuedBytes int
	// MaxParked is the most parked messages; 0: 100,000 (25 MB of index).
	MaxParked int
	// Accept is the word of an admin who abandons what is found corrupt, for this opening. It is written to the log.
	// nil: corrupt stretches stop.
	Accept *Word
	// Logger gets one line per decision; nil: none.
	Logger *slog.Logger
}

// Word is who said what.
type Word struct{ Who, Why string }

const (
	defaultSegmentSize = 64 << 20
	minSegmentSize     = 4 << 10
	maxSegmentSize     = 1 << 30 // positions in footers are 32 bits, and a segment may grow over its size by one group
	defaultQueuedBytes = 32 << 20
	defaultMaxParked   = 100_000
)

// withDefaults fills in and checks everything; it reports all that is wrong.
func (c Config) withDefaults(ctx context.Context, store Segments, used uint64) (Config, error) {
	if c.Quota == 0 {
		free, _, err := store.Space(ctx)
		if err != nil {
			return c, fmt.Errorf("space of the store: %w", err)
		}
		c.Quota = (used + free) / 20 * 19
	}
	if c.SegmentSize == 0 {
		c.SegmentSize = max(64<<10, min(defaultSegmentSize, int64(min(c.Quota/16, maxSegmentSize))))
	}
	if c.Reserve == 0 {
		c.Reserve = max(4*uint64(c.SegmentSize), c.Quota/20)
	}
	if c.LaneQuota == 0 {
		c.LaneQuota = c.Quota / 2
	}
	if c.MaxQueuedBytes == 0 {
		c.MaxQueuedBytes = defaultQueuedBytes
	}
	if c.MaxParked == 0 {
		c.MaxParked = defaultMaxParked
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.validate(store)
}

func (c *Config) validate(store Segments) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.SegmentSize >= minSegmentSize && c.SegmentSize <= maxSegmentSize, "segment size %d: want %d to %d bytes",
		c.SegmentSize, minSegmentSize, maxSegmentSize)
	check(c.Quota >= 8*uint64(c.SegmentSize), "quota %d: want at least 8 segments of %d bytes", c.Quota, c.SegmentSize)
	check(c.Reserve >= 2*uint64(c.SegmentSize) && c.Reserve < c.Quota,
		"reserve %d: want at least 2 segments of %d bytes, and less than the quota %d", c.Reserve, c.SegmentSize,
		c.Quota)
	check(c.MaxQueuedBytes > 0, "queue of %d bytes: want more than 0", c.MaxQueuedBytes)
	check(c.MaxParked > 0, "%d parked messages: want more than 0", c.MaxParked)
	check(validAlignment(store.Alignment()), "alignment %d of the store: want a power of two, 8 to 4096",
		store.Alignment())
	return errors.Join(errs...)
}
