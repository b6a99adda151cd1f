package spool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// SegmentStatus is one line of `cloudqueue spool ls`.
type SegmentStatus struct {
	Number      uint64
	Epoch       federation.Epoch
	Created     time.Time
	Bytes, Live uint64
	First, Last federation.LSN // of the groups that count; 0: unknown, or none
	Footer      bool           // its index stands at its end; without it the segment is scanned when it is read
	Writing     bool
	Broken      bool     // a part of it cannot be read
	Lanes       []Extent // what of it is not forgotten
}

// Segments lists the segments that count, by number.
func (s *Spool) Segments() []SegmentStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]SegmentStatus, 0, len(s.state.segments))
	for _, g := range s.state.inOrder() {
		list = append(list, SegmentStatus{
			Number: g.number(), Epoch: g.header.epoch, Created: g.header.created, Bytes: uint64(g.size), Live: g.live,
			First: g.first, Last: g.last,
			Footer: g.footer, Writing: g.content != nil, Broken: g.broken, Lanes: s.state.index.extentsIn(g),
		})
	}
	return list
}

// extentsIn lists what of g is not forgotten.
func (x *index) extentsIn(g *segment) (list []Extent) {
	for key, l := range x.lanes {
		for _, r := range l.runs {
			if r.segment == g {
				list = append(list, Extent{key.lane, key.generation, r.first, r.last, uint64(r.batches), r.bytes})
			}
		}
	}
	sortExtentList(list)
	return list
}

// WalkedRecord is one record of a segment, as `cloudqueue spool cat` shows it.
type WalkedRecord struct {
	LSN      federation.LSN
	Durable  federation.LSN // what its group's header says was durable before it
	Position int64          // of the record's payload in the segment
	Type     string         // as in the design: BATCH, MARK …
	Bytes    int            // of the payload
	Own      federation.LSN // own LSN: of the first writing; 0 where the type has none
	Record   Record         // nil for what the spool writes for itself, and for unknown types
	Text     string         // of what the spool writes for itself
}

// Walk visits every record of a segment in the order of the bytes, also those that do not count, without a claim. At
// each place where no good group follows it calls stopped with what is wrong there, and goes on at the next good one.
// Records share memory that is used again: visit must not keep them.
func Walk(ctx context.Context, store Segments, number uint64, visit func(WalkedRecord) error,
	stopped func(*CorruptError)) error {
	identity, err := store.Identify(ctx)
	if err != nil {
		return fmt.Errorf("identify the store: %w", err)
	}
	r, err := store.Open(ctx, number)
	if err != nil {
		return fmt.Errorf("open segment %d: %w", number, err)
	}
	return errors.Join(walkSegment(ctx, r, number, identity, visit, stopped), r.Close())
}

func walkSegment(ctx context.Context, r Reader, number uint64, identity Identity, visit func(WalkedRecord) error,
	stopped func(*CorruptError)) error {
	size, err := r.Size()
	if err != nil {
		return fmt.Errorf("size of segment %d: %w", number, err)
	}
	h, bad, _, err := readHeader(r, size, number, identity)
	if err != nil {
		return err
	}
	if bad != "" {
		stopped(&CorruptError{Segment: number, What: bad})
		return nil
	}
	scan, err := newScanner(r, h)
	if err != nil {
		return err
	}
	return walk(ctx, scan, visit, stopped)
}

func walk(ctx context.Context, s *scanner, visit func(WalkedRecord) error, stopped func(*CorruptError)) error {
	for {
		g, err := s.next()
		switch {
		case errors.Is(err, errStop):
			e, err := s.lookBehind(ctx)
			if err != nil {
				return err
			}
			if !e.clean {
				stopped(&CorruptError{Segment: s.header.number, Offset: e.end, LSN: s.last + 1,
					Last: max(s.last+1, e.claimed), What: "no good group"})
			}
			if e.resume == 0 || e.next == 0 {
				return nil
			}
			s.resumeAt(e)
		case err != nil:
			return err
		default:
			if err := g.visit(visit); err != nil {
				return err
			}
		}
	}
}

func (g *scannedGroup) visit(visit func(WalkedRecord) error) error {
	return splitRecords(g.body, g.records, func(r rawRecord) error {
		e := WalkedRecord{LSN: g.lsn, Durable: g.durable,
			Position: g.position + groupHeaderSize + int64(r.offset) + recordHeadSize, Type: r.kind.String(), Bytes: len(r.payload)}
		if err := e.decode(r); err != nil {
			return fmt.Errorf("group %d: %s: %w", g.lsn, r.kind, err)
		}
		return visit(e)
	})
}

// decode fills in what the payload says.
func (e *WalkedRecord) decode(r rawRecord) (err error) {
	switch r.kind {
	case typeBatch:
		var b *federation.Batch
		b, err = federation.ParseBatch(r.payload)
		e.Record = BatchRecord{b}
	case typeMark:
		f := fields{b: r.payload}
		key, m := f.mark()
		e.Record, e.Own, err = MarkRecord{key, m.value}, m.lsn, f.end()
	case typePark:
		var p ParkRecord
		p, e.Own, err = parsePark(r.payload)
		e.Record = p
	case typeUnpark:
		var u UnparkRecord
		u, e.Own, err = parseUnpark(r.payload)
		e.Record = u
	case typeAudit:
		f := fields{b: r.payload}
		a := f.audit()
		e.Record, e.Own, err = a.AuditRecord, a.lsn, f.end()
	case typeCheckpoint:
		var c *checkpoint
		if c, err = parseCheckpoint(r.payload); err == nil {
			e.Text = fmt.Sprintf("as of %d, part %d of %d, %d marks, %d segments, %d lanes, %d audits", c.asOf,
				c.part+1, c.parts, len(c.marks), len(c.segments), len(c.highest), len(c.audits))
		}
	case typeRecovered:
		var w recovered
		if w, err = parseRecovered(r.payload); err == nil {
			e.Text = fmt.Sprintf("the log of epoch %d ends before group %d", w.previous, w.cut)
			if w.accepted {
				e.Text += fmt.Sprintf("; %s abandoned what was corrupt: %s", w.who, w.why)
			}
		}
	case typeMoved:
		var numbers []uint64
		numbers, err = parseMoved(r.payload)
		e.Text = fmt.Sprintf("segments %v are free", numbers)
	}
	return err
}
