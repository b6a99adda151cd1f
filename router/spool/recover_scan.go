package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloudqueue/federation"
)

// scanWhole reads all groups of a segment that count there, with their marks.
func (r *recovery) scanWhole(ctx context.Context, f *foundSegment) error {
	g := &segment{header: f.header, size: f.size, limit: f.limit}
	f.segment = g
	t := r.gathering()
	var held []heldGroup
	err := r.read(ctx, f.number, func(reader Reader) error {
		scan, err := newScanner(reader, f.header)
		if err == nil {
			held, err = r.groups(ctx, f, scan, t)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(held) > 0 {
		g.limit = held[0].lsn
		r.held = append(held, r.held...)
	}
	g.footer = f.ending.footer && !f.skipped
	g.first, g.last = t.content.first, t.content.last
	r.adopt(f, t)
	return nil
}

// adopt puts what a scanned segment holds into the state.
func (r *recovery) adopt(f *foundSegment, t *gathering) {
	g := f.segment
	if r.complete = t.complete(); r.complete != nil {
		r.state.merge(r.complete)
	}
	if g.first == 0 || r.moved[f.number] {
		r.leftovers = append(r.leftovers, f.number)
		return
	}
	r.adoptIndex(g, t.content)
}

func (r *recovery) adoptIndex(g *segment, c *content) {
	g.others = c.others
	r.state.segments[g.number()] = g
	r.state.addIndex(g, c.runs, c.parks, c.unparks)
	for key, l := range c.lanes {
		r.cache.put(g, key, l.extents)
	}
}

func (r *recovery) gathering() *gathering {
	return &gathering{
		content: newContent(),
		marks:   r.state.marks.merge,
		audits:  r.state.addAudit,
		moved: func(numbers []uint64) {
			for _, n := range numbers {
				r.moved[n] = true
			}
		},
	}
}

// groups takes every group below the limit. It keeps back those that nothing yet says were durable, and returns what is
// left of them at the end.
func (r *recovery) groups(ctx context.Context, f *foundSegment, s *scanner,
	t *gathering) (held []heldGroup, err error) {
	var spare []byte // of the body released last: a whole segment passes through a few buffers
	release := func() error {
		for len(held) > 0 && held[0].lsn <= r.durable {
			if err := t.group(held[0].groupHeader, held[0].body, held[0].position); err != nil {
				return err
			}
			f.segment.valid = held[0].position + int64(held[0].bodyLength)
			spare = held[0].body
			held = held[1:]
		}
		return nil
	}
	for {
		g, err := s.next()
		if errors.Is(err, errStop) {
			if f.ending, err = s.lookBehind(ctx); err != nil {
				return nil, err
			}
			r.durable = max(r.durable, f.ending.claimed)
			if err := release(); err != nil {
				return nil, err
			}
			if !r.accept || f.ending.resume == 0 || f.ending.next == 0 {
				return held, nil
			}
			f.segment.broken, f.segment.accepted = true, true
			s.resumeAt(f.ending)
			continue
		}
		if err != nil {
			return nil, err
		}
		r.durable = max(r.durable, g.durable)
		if err := release(); err != nil {
			return nil, err
		}
		if f.limit != 0 && g.lsn >= f.limit {
			f.skipped = true
			continue
		}
		if f.first == 0 {
			f.first = g.lsn
		}
		f.last = g.lsn
		held = append(held, heldGroup{g.groupHeader, append(spare[:0], g.body...), g.position + groupHeaderSize})
		spare = nil
	}
}

// heldMoved looks for MOVED in the groups at the end of the log: it was durable, if nothing says so, before the segment
// went.
func (r *recovery) heldMoved(context.Context) error {
	for _, g := range r.held {
		err := splitRecords(g.body, g.records, func(rec rawRecord) error {
			if rec.kind != typeMoved {
				return nil
			}
			numbers, err := parseMoved(rec.payload)
			for _, n := range numbers {
				r.moved[n] = true
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("group %d: %w", g.lsn, err)
		}
	}
	return nil
}

// readOlder reads the footers of the segments before the CHECKPOINT's; those without a good one are scanned.
func (r *recovery) readOlder(ctx context.Context) error {
	if r.complete == nil {
		return nil
	}
	older := r.found[:r.base]
	for _, entry := range r.complete.segments {
		i := slices.IndexFunc(older, func(f *foundSegment) bool { return f.number == entry.number })
		if r.moved[entry.number] {
			continue
		}
		if i < 0 {
			r.missing(entry)
			continue
		}
		if err := r.readOld(ctx, older[i], entry); err != nil {
			return err
		}
	}
	for _, f := range slices.Backward(older) {
		if f.segment == nil {
			r.leftovers = append(r.leftovers, f.number)
		}
	}
	return nil
}

// missing keeps the table's line of a segment that is not there, unless an admin abandons it: every later opening tells
// of the loss, or finds the segment where it was put back.
func (r *recovery) missing(entry tableEntry) {
	if entry.accepted {
		return
	}
	if !r.accept {
		r.state.missing = append(r.state.missing, entry)
	}
	// never an error without Marks
	_ = r.corrupt(&CorruptError{Segment: entry.number, Offset: -1, Last: entry.last, What: "the segment is missing"})
}

// readOld reads the index of one segment of the table.
func (r *recovery) readOld(ctx context.Context, f *foundSegment, entry tableEntry) error {
	g := &segment{header: f.header, size: f.size, valid: entry.valid, last: entry.last, limit: entry.last + 1,
		accepted: entry.accepted || r.accept}
	f.segment = g
	if f.bad != "" {
		g.header.number, g.broken = f.number, true
		r.state.segments[f.number] = g
		r.stretch(g, &CorruptError{Segment: f.number, Last: entry.last, What: f.bad})
		return nil
	}
	err := r.read(ctx, f.number, func(reader Reader) error {
		s, err := readFooter(reader, &f.header)
		if err == nil && s.last == entry.last && s.valid == entry.valid {
			g.first, g.footer, g.others = s.first, true, s.others
			r.state.segments[f.number] = g
			r.state.addIndex(g, s.runs, s.parks, s.unparks)
			return nil
		}
		scan, err := newScanner(reader, f.header)
		if err != nil {
			return err
		}
		return r.scanOld(ctx, f, scan)
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, federation.ErrVersion) &&
		!errors.Is(err, federation.ErrUnknownCritical) {
		r.state.segments[f.number] = g
		r.stretch(g, &CorruptError{Segment: f.number, Last: entry.last, What: err.Error()})
		return nil
	}
	return err
}

// stretch notes that a part of an old segment is corrupt: its marks are in the CHECKPOINT, so only lanes stop.
func (r *recovery) stretch(g *segment, c *CorruptError) {
	g.broken = true
	if !g.accepted {
		_ = r.corrupt(c) // never an error without Marks
	}
}

// scanOld indexes all good groups of an old segment, and notes the stretches between them.
func (r *recovery) scanOld(ctx context.Context, f *foundSegment, s *scanner) error {
	g := f.segment
	t := &gathering{content: newContent(), marks: func(federation.MarkKey, mark) {}, audits: func(ownAudit) {},
		moved: func([]uint64) {}}
	if err := indexGroups(ctx, s, g.limit, t, func(e ending, last federation.LSN) {
		if last < g.last {
			bad := &CorruptError{Segment: f.number, Offset: e.end, LSN: last + 1, Last: g.last,
				What: "a group that was durable is bad"}
			if last == 0 {
				bad.LSN = 0 // the segment's first group is bad: nobody knows its LSN
			}
			if e.next != 0 {
				bad.Last = min(e.next-1, g.last)
			}
			r.stretch(g, bad)
		}
	}); err != nil {
		return err
	}
	g.first = t.content.first
	r.adoptIndex(g, t.content)
	return nil
}

// indexGroups takes every good group below limit (0: every one). At each place where none follows it calls stopped with
// what was found behind it, and with the LSN of the last group before it, and goes on at the next good one.
func indexGroups(ctx context.Context, s *scanner, limit federation.LSN, t *gathering,
	stopped func(ending, federation.LSN)) error {
	for {
		g, err := s.next()
		switch {
		case errors.Is(err, errStop):
			e, err := s.lookBehind(ctx)
			if err != nil {
				return err
			}
			stopped(e, s.last)
			if e.resume == 0 || e.next == 0 {
				return nil
			}
			s.resumeAt(e)
		case err != nil:
			return err
		case limit != 0 && g.lsn >= limit:
		default:
			if err := t.group(g.groupHeader, g.body, g.position+groupHeaderSize); err != nil {
				return err
			}
		}
	}
}
