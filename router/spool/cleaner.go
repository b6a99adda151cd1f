package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// Cleaning gives back space that a few live batches pin. A segment is rewritten only when at most half of it is live,
// so that at most one byte is written for each that comes back; while there is plenty of room only when at most a
// quarter is.
const (
	liveShareRoom  = 4 // a quarter
	liveShareTight = 2 // a half
	// segments that are small because an opening or a failure ended them; more are rewritten into one
	maxSmall   = 16
	cleanChunk = 1 << 20
)

// clean frees dead segments, then rewrites pinned ones until none is worth it.
func (s *Spool) clean(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.freeDead(ctx); err != nil {
			return fmt.Errorf("clean: %w", err)
		}
		victim := s.victim()
		if victim == nil {
			return nil
		}
		if err := s.rewrite(ctx, victim); err != nil {
			return fmt.Errorf("clean: %w", err)
		}
	}
	return ctx.Err()
}

// freeDead writes MOVED for every segment that holds nothing that anybody needs, and removes it. MOVED is durable
// before a segment goes: without it a missing segment is a loss.
func (s *Spool) freeDead(ctx context.Context) error {
	numbers := s.dead()
	if len(numbers) == 0 {
		return nil
	}
	if err := s.commitOwn(ctx, movedRecord(numbers)); err != nil {
		return err
	}
	return s.removeGarbage(ctx)
}

// movedRecord says that segments are free to be removed.
func movedRecord(numbers []uint64) encoded {
	return encoded{kind: typeMoved, flags: flagCritical, payload: appendMoved(nil, numbers), moved: numbers}
}

// dead lists the segments that are not written any more, not counting their footers, and hold no live batches, needed
// parking records or records of unknown types.
func (s *Spool) dead() (numbers []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pinned := s.state.parks.pinned()
	for _, g := range s.state.inOrder() {
		if g.number() < s.previous && g.live == 0 && g.batches == 0 && len(g.others) == 0 &&
			(!g.broken || g.accepted) && pinned[g] == 0 {
			numbers = append(numbers, g.number())
		}
	}
	return numbers
}

// closed tells whether nobody writes g any more, not even its footer. An older segment is closed when a newer one holds
// groups.
func (s *Spool) closed(g *segment) bool { return g.content == nil && g.number() < s.previous }

// cleanable tells whether g may be rewritten at this moment. Callers hold mu.
func (s *Spool) cleanable(g *segment, now time.Time) bool {
	return s.closed(g) && !g.broken && !now.Before(g.unread.again)
}

// victim picks the closed segment with the smallest live share, when that is small enough.
func (s *Spool) victim() *segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	share := uint64(liveShareRoom)
	if s.used+2*s.cfg.Reserve > s.cfg.Quota/2 || s.batchRoom() == 0 {
		share = liveShareTight
	}
	pinned := s.state.parks.pinned()
	now := time.Now()
	var best *segment
	bestLive := uint64(0)
	for _, g := range s.state.inOrder() {
		if !s.cleanable(g, now) {
			continue
		}
		live := g.live + pinned[g] + otherBytes(g)
		if live*share <= uint64(g.size) && (best == nil || live*uint64(best.size) < bestLive*uint64(g.size)) {
			best, bestLive = g, live
		}
	}
	if best == nil {
		return s.smallVictim(now)
	}
	return best
}

// smallVictim picks the oldest of the small segments, when there are too many of them.
func (s *Spool) smallVictim(now time.Time) *segment {
	small := slices.DeleteFunc(s.state.inOrder(), func(g *segment) bool {
		return !s.cleanable(g, now) || g.size >= s.cfg.SegmentSize/8
	})
	if len(small) <= maxSmall {
		return nil
	}
	return small[0]
}

func otherBytes(g *segment) (n uint64) {
	for _, o := range g.others {
		n += uint64(o.length)
	}
	return n
}

// rewrite copies what is needed of g into the log's end, in pieces, says MOVED, and removes g.
func (s *Spool) rewrite(ctx context.Context, g *segment) error {
	records, err := s.needed(ctx, g)
	if err != nil {
		return s.leaveUnread(g, err)
	}
	for len(records) > 0 {
		var piece []encoded
		size := 0
		for len(records) > 0 && size < cleanChunk {
			e, err := s.copyOf(ctx, g, records[0])
			if err != nil {
				return s.leaveUnread(g, err)
			}
			records = records[1:]
			piece, size = append(piece, e), size+len(e.payload)
		}
		if err := s.commitOwn(ctx, piece...); err != nil {
			return err
		}
		if err := s.errands(ctx); err != nil {
			s.kept(ctx, err)
		}
	}
	if err := s.commitOwn(ctx, movedRecord([]uint64{g.number()})); err != nil {
		return err
	}
	s.logger.Debug("segment cleaned", "segment", g.number())
	return s.removeGarbage(ctx)
}

// leaveUnread leaves a segment that cannot be read: nothing stored is deleted because of that. What is corrupt in it
// stays so, and is not asked again; anything else may be the store's, and is tried again with back-off, while other
// segments are cleaned. One that the writer has freed meanwhile is no loss. An error is a context's.
func (s *Spool) leaveUnread(g *segment, err error) error {
	if s.gone(g) {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	corrupt := errors.Is(err, federation.ErrCorrupt)
	err = fmt.Errorf("segment %d keeps its space: %w", g.number(), err)
	s.mu.Lock()
	first := g.unread.err == nil
	g.broken = corrupt
	g.unread.failed(err, time.Now())
	s.mu.Unlock()
	switch {
	case corrupt:
		s.logger.Error("segment cannot be cleaned", "segment", g.number(), "err", err)
	case first:
		s.logger.Warn("segment cannot be read to be cleaned, trying again", "segment", g.number(), "err", err)
	}
	return nil
}

// needed lists the records of g that must be rewritten: batches that are not forgotten and stand nowhere later, parking
// records, unknown ones.
func (s *Spool) needed(ctx context.Context, g *segment) ([]place, error) {
	var list []place
	for _, key := range s.lanesOf(g) {
		extents, err := s.extentsOf(ctx, g, key)
		if err != nil {
			return nil, err
		}
		for _, e := range extents {
			if s.wanted(key, e) && !s.storedLater(ctx, g, key, e) {
				list = append(list, place{typeBatch, flagCritical, e.position, e.length})
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list = append(list, s.state.parks.needs(g)...)
	return append(list, g.others...), nil
}

// lanesOf lists the numberings of which g holds something that is not forgotten.
func (s *Spool) lanesOf(g *segment) (keys []laneKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range s.state.index.lanes {
		for i := range l.runs {
			if l.runs[i].segment == g {
				keys = append(keys, key)
				break
			}
		}
	}
	return keys
}

func (s *Spool) wanted(key laneKey, e extent) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.last() > s.state.index.lane(key).forgotten
}

// storedLater tells whether a later segment holds the same batch: a cleaning that was cut short had copied it.
func (s *Spool) storedLater(ctx context.Context, g *segment, key laneKey, e extent) bool {
	s.mu.Lock()
	runs := s.state.index.lane(key).at(e.first, nil)
	s.mu.Unlock()
	for _, r := range runs {
		if r.segment.number() <= g.number() || r.first > e.first {
			continue
		}
		found, err := s.find(ctx, r.segment, key, e.first)
		if err == nil && found.first == e.first && found.digest == e.digest && found.count == e.count {
			return true
		}
	}
	return false
}

// copyOf reads a record as it stands, to be written again.
func (s *Spool) copyOf(ctx context.Context, g *segment, at place) (encoded, error) {
	payload, err := s.payload(ctx, g, at)
	if err != nil {
		return encoded{}, err
	}
	e := encoded{kind: at.kind, flags: at.flags, payload: payload}
	switch at.kind {
	case typeBatch:
		e.batch, err = parseStored(payload, g, at)
	case typePark:
		var p ParkRecord
		p, _, _, err = parseParkHead(payload)
		e.park = p.info(len(payload))
	case typeUnpark:
		var u UnparkRecord
		u, _, err = parseUnpark(payload)
		e.park.ID = u.Park
	}
	if err != nil {
		return encoded{}, fmt.Errorf("segment %d at byte %d: %w", g.number(), at.position, err)
	}
	return e, nil
}

// commitOwn commits what the spool writes for itself: the quota leaves room for it.
func (s *Spool) commitOwn(ctx context.Context, records ...encoded) error {
	sub, err := newSubmission(records...)
	if err != nil {
		return err
	}
	t, err := s.enqueue(ctx, sub, false)
	if err != nil {
		return err
	}
	return t.Wait(ctx)
}
