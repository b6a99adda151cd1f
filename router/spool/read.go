package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"cloudqueue/federation"
)

// Read gives the durable batch that holds from or, if none does, the next one after it. ErrNone: there is none. A
// *CorruptError: there should be one, and it cannot be served; so does every later call until the span is passed by
// reading behind it. The batch belongs to the caller. Nothing is kept for the reader but the extents of a segment:
// memory does not grow with the backlog.
func (s *Spool) Read(ctx context.Context, lane federation.Lane, gen federation.Generation,
	from federation.Offset) (*federation.Batch, error) {
	key := laneKey{lane, gen}
	for {
		g, e, err := s.locate(ctx, key, from)
		var b *federation.Batch
		if err == nil {
			b, err = s.batch(ctx, g, key, e)
		}
		if g == nil || !errors.Is(err, fs.ErrNotExist) {
			return b, err
		}
		if !s.gone(g) {
			return nil, s.absent(g, key, from)
		}
		// cleaned under us: its batches stand elsewhere
	}
}

// absent names what a segment held that somebody took away beneath the spool. It is not noted: it can be put back at
// any time.
func (s *Spool) absent(g *segment, key laneKey, from federation.Offset) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.state.index.lanes[key]
	from = max(from, l.forgotten+1)
	missing := federation.Span{First: from, Last: from}
	for _, r := range l.at(from, nil) {
		if r.segment == g {
			missing.First, missing.Last = max(from, r.first), r.last
			break
		}
	}
	return (&CorruptError{Segment: g.number(), Offset: -1, What: "the segment is missing"}).of(key, missing)
}

// locate finds the first batch of the lane that ends at or after from. The segment is given also with an error that
// came from reading it.
func (s *Spool) locate(ctx context.Context, key laneKey, from federation.Offset) (*segment, extent, error) {
	var buf [4]segmentRun
	for {
		s.mu.Lock()
		l := s.state.index.lanes[key]
		if l == nil {
			s.mu.Unlock()
			return nil, extent{}, s.nothing(key, from)
		}
		from = max(from, l.forgotten+1)
		runs := l.at(from, buf[:0])
		s.mu.Unlock()
		if len(runs) == 0 {
			return nil, extent{}, s.nothing(key, from)
		}
		g, e, err := s.first(ctx, key, from, runs)
		if err != nil {
			return g, e, err
		}
		if g != nil {
			return g, e, s.hole(key, from, e.first)
		}
		from = runs[0].last + 1 // the run had a hole there
	}
}

// first finds, in runs that overlap with the first one, the lowest batch that ends at or after from and begins within
// the first run; a nil segment when there is none.
func (s *Spool) first(ctx context.Context, key laneKey, from federation.Offset,
	runs []segmentRun) (best *segment, e extent, err error) {
	for _, r := range runs {
		found, err := s.find(ctx, r.segment, key, from)
		if err != nil {
			return r.segment, e, err
		}
		if found.count == 0 || found.first > runs[0].last {
			continue
		}
		if best != nil && found.first == e.first && (found.digest != e.digest || found.count != e.count) {
			return nil, e, s.conflict(key, r.segment, found)
		}
		if best == nil || found.first < e.first || found.first == e.first && r.segment.number() > best.number() {
			best, e = r.segment, found
		}
	}
	return best, e, nil
}

// conflict is two batches of one name with different bytes.
func (s *Spool) conflict(key laneKey, g *segment, e extent) error {
	return s.noteCorrupt(&CorruptError{Segment: g.number(), Offset: int64(e.position),
		What: "two different batches have one name", Count: e.count,
		Batch: federation.BatchName{Lane: key.lane, Generation: key.generation, First: e.first}})
}

// nothing is the answer when no batch stands at or after from: ErrNone, unless one should and what was lost may have
// held it.
func (s *Spool) nothing(key laneKey, from federation.Offset) error {
	s.mu.Lock()
	l := s.state.index.lanes[key]
	var last federation.Offset
	if l != nil && from > l.forgotten {
		last = l.highest
	}
	s.mu.Unlock()
	if from <= last {
		return s.lost(key, federation.Span{First: from, Last: last}, ErrNone)
	}
	return ErrNone
}

// hole is the answer when the next batch begins only at first.
func (s *Spool) hole(key laneKey, from, first federation.Offset) error {
	if first <= from {
		return nil
	}
	return s.lost(key, federation.Span{First: from, Last: first - 1}, nil)
}

// lost blames missing offsets on a stretch of which nobody knows what it held, if there is one.
func (s *Spool) lost(key laneKey, missing federation.Span, otherwise error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.corrupt, func(c *CorruptError) bool { return c.Batch.First == 0 })
	if i < 0 {
		return otherwise
	}
	c := *s.corrupt[i]
	return c.of(key, missing)
}

// batch reads one batch and checks that it is the one.
func (s *Spool) batch(ctx context.Context, g *segment, key laneKey, e extent) (*federation.Batch, error) {
	at := place{typeBatch, flagCritical, e.position, e.length}
	name := federation.BatchName{Lane: key.lane, Generation: key.generation, First: e.first}
	payload, err := s.payload(ctx, g, at)
	if err != nil {
		return nil, err
	}
	b, err := parseStored(payload, g, at)
	if err == nil && (b.Header.Name() != name || b.Header.Count != e.count || digest32(b.Header.Digest) != e.digest) {
		err = fmt.Errorf("it is batch %s: %w", b.Header.Name(), federation.ErrCorrupt)
	}
	if errors.Is(err, federation.ErrCorrupt) {
		return nil, s.noteCorrupt(&CorruptError{Segment: g.number(), Offset: int64(e.position), What: err.Error(),
			Batch: name, Count: e.count})
	}
	return b, err
}

func parseStored(payload []byte, g *segment, at place) (*federation.Batch, error) {
	if len(payload) < int(at.length) {
		return nil, fmt.Errorf("segment %d ends within a record: %w", g.number(), federation.ErrCorrupt)
	}
	return federation.ParseBatch(payload)
}

// payload reads the bytes of a record, fewer at the end of the segment.
func (s *Spool) payload(ctx context.Context, g *segment, at place) ([]byte, error) {
	r, err := s.readers.acquire(ctx, g.number())
	if err != nil {
		return nil, err
	}
	defer s.release(r)
	size, err := r.Size()
	if err != nil {
		return nil, fmt.Errorf("size of segment %d: %w", g.number(), err)
	}
	if int64(at.position)+int64(at.length) > size || at.length > maxRecord {
		return nil, nil
	}
	b := make([]byte, at.length)
	n, err := readFull(r, b, int64(at.position))
	if err != nil {
		return nil, fmt.Errorf("read segment %d at byte %d: %w", g.number(), at.position, err)
	}
	return b[:n], nil
}

func (s *Spool) release(r *openReader) {
	if err := s.readers.release(r); err != nil {
		s.logger.Debug("close of a segment", "segment", r.number, "err", err)
	}
}

// gone tells whether a segment was cleaned.
func (s *Spool) gone(g *segment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return g != nil && s.state.segments[g.number()] != g
}

// noteCorrupt says once, loudly, what reading found.
func (s *Spool) noteCorrupt(c *CorruptError) error {
	s.mu.Lock()
	known := slices.ContainsFunc(s.corrupt, func(o *CorruptError) bool {
		return o.Segment == c.Segment && o.Offset == c.Offset
	})
	if !known && len(s.corrupt) < maxCorrupt {
		s.corrupt = append(s.corrupt, c)
	}
	s.mu.Unlock()
	if !known {
		s.logger.Error("store corrupt", "segment", c.Segment, "offset", c.Offset, "lane", c.Batch.Lane,
			"first", c.Batch.First, "what", c.What)
	}
	return c
}

// maxCorrupt bounds the list of what reading found. Chosen: a person looks at the first ten.
const maxCorrupt = 1000
