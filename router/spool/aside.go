package spool

import (
	"context"
	"errors"
	"fmt"
)

// asideShare is the least share of its disk that the spool leaves when it sets space aside. Chosen: a sixteenth of a
// tiny disk is still some openings, and nobody misses it.
const asideShare = 16

// asideBytes is what the spool sets aside of its store's disk, for the day on which somebody else has filled it: a
// segment. That is an opening with room to spare (STORE, at most one group of MaxGroup whose durability nobody can
// prove, RECOVERED, a CHECKPOINT), or the marks of everything that one segment of batches holds; that segment then
// goes, and its space comes back.
func (s *Spool) asideBytes() uint64 { return min(uint64(s.cfg.SegmentSize), s.total/asideShare) }

// setAside has the store set space aside. It waits until there is twice as much: else what was given back a moment ago
// would be taken away again, and each time a write be cut short.
func (s *Spool) setAside(ctx context.Context) error {
	s.mu.Lock()
	n := s.asideBytes()
	plenty := n > 0 && s.free/2 >= n
	s.mu.Unlock()
	if !plenty {
		return nil
	}
	// it went to somebody else meanwhile
	if err := s.store.SetAside(ctx, n); err != nil && !errors.Is(err, ErrNoSpace) {
		return fmt.Errorf("set space aside for a full disk: %w", err)
	}
	return nil
}

// refreshSpace asks the store how much it can take.
func (s *Spool) refreshSpace(ctx context.Context) error {
	free, total, err := s.store.Space(ctx)
	if err != nil {
		return fmt.Errorf("space of the store: %w", err)
	}
	s.mu.Lock()
	s.free, s.total = free, total
	s.look()
	s.mu.Unlock()
	return nil
}
