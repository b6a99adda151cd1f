package spool

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"cloudqueue/federation"
)

// state is what the log says, up to its last group that counts. Recovery makes it, the writer moves it on; Spool.mu
// guards it.
type state struct {
	marks    markTable
	index    *index
	parks    *parking
	audits   []ownAudit // by own LSN, at most maxAudits
	segments map[uint64]*segment
	missing  []tableEntry   // of segments that were not there at Open
	last     federation.LSN // of the last group that is durable
}

// maxAudits is how many words of admins are kept. Chosen: years of them in 200 KB.
const maxAudits = 1000

func newState() *state {
	return &state{marks: newMarkTable(), index: newIndex(), parks: newParking(), segments: make(map[uint64]*segment)}
}

// inOrder gives the segments by number.
func (s *state) inOrder() []*segment {
	return slices.SortedFunc(maps.Values(s.segments), func(a, b *segment) int {
		return cmp.Compare(a.number(), b.number())
	})
}

// uncleanable is why a segment that should be cleaned was not, the last time that was tried; nil when there is none.
func (s *state) uncleanable() error {
	for _, g := range s.inOrder() {
		if g.unread.err != nil {
			return g.unread.err
		}
	}
	return nil
}

func (s *state) addAudit(a ownAudit) {
	if slices.Contains(s.audits, a) {
		return
	}
	at, _ := slices.BinarySearchFunc(s.audits, a, func(x, y ownAudit) int {
		if x.lsn <= y.lsn {
			return -1
		}
		return 1
	})
	s.audits = slices.Insert(s.audits, at, a)
	if len(s.audits) > maxAudits {
		s.audits = slices.Delete(s.audits, 0, len(s.audits)-maxAudits)
	}
}

// merge takes what a checkpoint holds, but for its segment table.
func (s *state) merge(c *checkpoint) {
	for _, m := range c.marks {
		s.marks.merge(m.key, mark{m.lsn, bytes.Clone(m.value)}) // a few marks must not pin a whole CHECKPOINT
	}
	for _, h := range c.highest {
		l := s.index.lane(h.key)
		l.highest = max(l.highest, h.offset)
	}
	for _, a := range c.audits {
		s.addAudit(a)
	}
}

// addIndex takes what a segment's content or footer says of batches and parked messages.
func (s *state) addIndex(g *segment, lane func(yield func(laneKey, []run) bool), parks []parkPlace, unparks []ownID) {
	for key, runs := range lane {
		for _, r := range runs {
			s.index.add(key, r, g)
		}
	}
	s.parks.add(g, parks, unparks)
}

func (c *content) runs(yield func(laneKey, []run) bool) {
	for key, l := range c.lanes {
		if !yield(key, l.runs) {
			return
		}
	}
}

func (s *summary) runs(yield func(laneKey, []run) bool) {
	for key, l := range s.lanes {
		if !yield(key, l.runs) {
			return
		}
	}
}

// gathering takes the records of one segment's groups apart: the index into content, the rest where it belongs.
type gathering struct {
	content *content
	marks   func(federation.MarkKey, mark)
	audits  func(ownAudit)
	moved   func([]uint64)
	parts   []*checkpoint // of the newest checkpoint, in order
}

// group takes all records of a group whose body stands at position. Errors wrap federation.ErrCorrupt, ErrVersion or
// ErrUnknownCritical.
func (t *gathering) group(h groupHeader, body []byte, position int64) error {
	t.content.addGroup(h.lsn)
	return splitRecords(body, h.records, func(r rawRecord) error {
		at := place{r.kind, r.flags, uint32(position) + uint32(r.offset) + recordHeadSize, uint32(len(r.payload))}
		if err := t.record(r, at); err != nil {
			return fmt.Errorf("group %d: %s: %w", h.lsn, r.kind, err)
		}
		return nil
	})
}

func (t *gathering) record(r rawRecord, at place) error {
	switch r.kind {
	case typeBatch:
		return t.batch(r.payload, at)
	case typeMark:
		f := fields{b: r.payload}
		key, m := f.mark()
		if err := f.end(); err != nil {
			return err
		}
		t.marks(key, mark{m.lsn, bytes.Clone(m.value)})
	case typePark:
		p, lsn, _, err := parseParkHead(r.payload)
		if err != nil {
			return err
		}
		t.content.parks = append(t.content.parks, parkPlace{p.info(len(r.payload)), lsn, at})
	case typeUnpark:
		u, lsn, err := parseUnpark(r.payload)
		if err != nil {
			return err
		}
		t.content.unparks = append(t.content.unparks, ownID{u.Park, lsn, at})
	case typeAudit:
		f := fields{b: r.payload}
		a := f.audit()
		if err := f.end(); err != nil {
			return err
		}
		t.audits(a)
	default:
		return t.own(r, at)
	}
	return nil
}

// own takes the records that the spool writes for itself, and unknown ones.
func (t *gathering) own(r rawRecord, at place) error {
	switch r.kind {
	case typeCheckpoint:
		c, err := parseCheckpoint(bytes.Clone(r.payload)) // it is kept until all parts are there
		if err != nil {
			return err
		}
		if c.part == 0 {
			t.parts = nil
		}
		t.parts = append(t.parts, c)
	case typeRecovered:
		_, err := parseRecovered(r.payload)
		return err
	case typeMoved:
		numbers, err := parseMoved(r.payload)
		if err != nil {
			return err
		}
		t.moved(numbers)
	default:
		if r.flags&flagCritical != 0 {
			return federation.ErrUnknownCritical
		}
		t.content.others = append(t.content.others, at)
	}
	return nil
}

func (t *gathering) batch(payload []byte, at place) error {
	b, err := federation.ParseBatch(payload)
	if err != nil {
		return err
	}
	t.content.addBatch(laneKey{b.Header.Lane, b.Header.Generation}, extentOf(b, at.position))
	return nil
}

// complete gives the checkpoint, all parts in one, when all of them are there and it misses no mark of its segment; nil
// otherwise.
func (t *gathering) complete() *checkpoint {
	if len(t.parts) == 0 || len(t.parts) != int(t.parts[0].parts) || t.parts[0].asOf+1 < t.content.first {
		return nil
	}
	whole := *t.parts[0]
	for i, c := range t.parts[1:] {
		if int(c.part) != i+1 || c.parts != whole.parts || c.asOf != whole.asOf {
			return nil
		}
		whole.marks = append(whole.marks, c.marks...)
		whole.highest = append(whole.highest, c.highest...)
	}
	return &whole
}

func extentOf(b *federation.Batch, position uint32) extent {
	h := &b.Header
	return extent{h.First, h.Count, position, uint32(len(b.Bytes())), digest32(h.Digest)}
}

func digest32(d [32]byte) uint32 {
	return uint32(d[0]) | uint32(d[1])<<8 | uint32(d[2])<<16 | uint32(d[3])<<24
}

func (p *ParkRecord) info(bytes int) ParkedInfo {
	return ParkedInfo{ID: p.ID(), Reason: p.Reason, Last: p.Last, Bytes: uint64(bytes)}
}
