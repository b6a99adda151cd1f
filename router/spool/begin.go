package spool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
)

// begin writes the first segment of an opening: the groups at the end of the log for which there is no proof of
// durability (some may be durable, and their callers may have been told so), RECOVERED, a CHECKPOINT. From then on they
// are durable, and whatever else the old segments hold at or above their LSN never counts.
func (s *Spool) begin(ctx context.Context, r *recovery) error {
	o, err := s.create(ctx)
	if err != nil {
		return err
	}
	b := builder{header: &o.header, at: o.valid, durable: s.state.last}
	pending, moved, err := s.layOut(&b, r)
	if err == nil {
		err = o.append(ctx, b.buf)
	}
	if err != nil {
		return errors.Join(err, o.w.Close())
	}
	s.publish(o, pending, int64(len(b.buf)), nil, nil)
	s.mu.Lock()
	s.applyMoved(moved) // what was copied out of those stands in the new segment
	s.mu.Unlock()
	s.active = o
	return nil
}

// layOut fills b, and gives what becomes durable with it, and the segments that are free then.
func (s *Spool) layOut(b *builder, r *recovery) (pending *content, moved []uint64, err error) {
	pending = newContent()
	t := s.gathering(pending, &moved)
	for _, g := range r.held {
		if err := b.held(g, t); err != nil {
			return nil, nil, err
		}
	}
	lsn := max(s.state.last, pending.last) + 1
	word, err := s.opened(r, lsn)
	if err != nil {
		return nil, nil, err
	}
	b.group(lsn, []*submission{word}, pending)
	for i := range word.records {
		s.apply(&word.records[i])
	}
	b.checkpoint(lsn+1, s.checkpointNow(moved), pending)
	return pending, moved, nil
}

// gathering takes records into the state at once: an opening that fails is thrown away. What MOVED names is only noted:
// the copies of what those segments held come into the state with c.
func (s *Spool) gathering(c *content, moved *[]uint64) *gathering {
	return &gathering{content: c, marks: s.state.marks.merge, audits: s.state.addAudit, moved: func(numbers []uint64) {
		*moved = append(*moved, numbers...)
	}}
}

// opened is RECOVERED, the memory of the openings before and, when an admin abandoned something, the audit of it.
func (s *Spool) opened(r *recovery, lsn federation.LSN) (*submission, error) {
	word := recovered{cut: lsn}
	for _, f := range r.found {
		word.previous = max(word.previous, f.header.epoch)
	}
	records, err := s.remember(r, lsn)
	if err != nil {
		return nil, err
	}
	if a := s.cfg.Accept; a != nil {
		audit, err := encodeRecord(AuditRecord{Who: a.Who, What: "abandoned what is corrupt in the store: " + a.Why,
			At: time.Now().Truncate(time.Millisecond)})
		if err != nil {
			return nil, fmt.Errorf("the word that abandons what is corrupt: %w", err)
		}
		word.accepted, word.who, word.why = true, a.Who, a.Why
		records = append(records, audit)
	}
	records = append(records, encoded{kind: typeRecovered, flags: flagCritical, payload: word.append(nil)})
	return newSubmission(records...)
}

// showHeld shows what a read-only opening found at the end of the log, where it stands.
func (s *Spool) showHeld(r *recovery) error {
	for _, g := range r.held {
		at := slices.IndexFunc(r.found, func(f *foundSegment) bool {
			return f.segment != nil && f.first <= g.lsn && g.lsn <= f.last
		})
		seg := r.found[at].segment
		pending := newContent()
		var moved []uint64
		if err := s.gathering(pending, &moved).group(g.groupHeader, g.body, g.position); err != nil {
			return err
		}
		s.extents.drop(seg) // what is cached ends before this group
		if seg.first == 0 {
			seg.first = g.lsn
		}
		seg.limit, seg.last = r.found[at].limit, g.lsn
		s.state.segments[seg.number()] = seg
		s.state.addIndex(seg, pending.runs, pending.parks, pending.unparks)
		s.applyMoved(moved)
		s.state.last = g.lsn
	}
	return nil
}
