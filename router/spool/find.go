package spool

import (
	"context"
	"fmt"
	"slices"

	"cloudqueue/federation"
)

// find gives the first extent of g that ends at or after from; a count of 0 when there is none.
func (s *Spool) find(ctx context.Context, g *segment, key laneKey, from federation.Offset) (extent, error) {
	s.mu.Lock()
	if g.content != nil {
		defer s.mu.Unlock()
		if l := g.content.lanes[key]; l != nil {
			return search(l.extents, from), nil
		}
		return extent{}, nil
	}
	s.mu.Unlock()
	extents, err := s.extentsOf(ctx, g, key)
	return search(extents, from), err
}

// search finds the first extent that ends at or after from, of those sorted by first offset.
func search(extents []extent, from federation.Offset) extent {
	at, _ := slices.BinarySearchFunc(extents, from, func(e extent, from federation.Offset) int {
		if e.last() < from {
			return -1
		}
		return 1
	})
	if at == len(extents) {
		return extent{}
	}
	return extents[at]
}

// extentsOf gives the sorted extents of a closed segment's lane: cached, from the footer, or by a scan.
func (s *Spool) extentsOf(ctx context.Context, g *segment, key laneKey) ([]extent, error) {
	if extents, ok := s.extents.get(g, key); ok {
		return extents, nil
	}
	r, err := s.readers.acquire(ctx, g.number())
	if err != nil {
		return nil, err
	}
	defer s.release(r)
	s.mu.Lock()
	footer := g.footer
	s.mu.Unlock()
	if footer {
		extents, err := readExtents(r, &g.header, key)
		if err == nil {
			s.extents.put(g, key, extents)
			return extents, nil
		}
		s.logger.Warn("footer unreadable, scanning the segment", "segment", g.number(), "err", err)
	}
	return s.scanExtents(ctx, r, g, key)
}

// scanExtents finds the extents of all lanes of a segment, and gives those of one.
func (s *Spool) scanExtents(ctx context.Context, r Reader, g *segment, key laneKey) ([]extent, error) {
	t := &gathering{content: newContent(), marks: func(federation.MarkKey, mark) {}, audits: func(ownAudit) {},
		moved: func([]uint64) {}}
	scan, err := newScanner(r, g.header)
	if err == nil {
		err = indexGroups(ctx, scan, g.limit, t, func(ending, federation.LSN) {})
	}
	if err != nil {
		return nil, fmt.Errorf("scan segment %d: %w", g.number(), err)
	}
	s.cacheContent(g, t.content)
	if l := t.content.lanes[key]; l != nil {
		return l.extents, nil
	}
	return nil, nil
}
