package spool

import (
	"fmt"

	"cloudqueue/federation"
)

// The records that the spool writes for itself. All are critical.
//
//	RECOVERED   cut LSN u64, previous epoch u64, accepted u8, who text, why text
//	MOVED       n u32 × segment number u64, ascending
//	CHECKPOINT  as-of LSN u64, part u16, parts u16,
//	            n u32 × mark (the payload of a MARK record),
//	            n u32 × segment {number u64, valid bytes u64, last LSN u64, live bytes u64, flags u8 (bit 0: loss accepted)},
//	            n u32 × lane {lane and generation (key of a LANE_HIGH mark), highest offset ever stored u64},
//	            n u32 × audit (the payload of an AUDIT record);
//	            segments and audits stand in part 0

// recovered is written first by every opening. It has the LSN after the last one that the opening found; groups of an
// older epoch at or above that LSN never count, so that a cut is decided once.
type recovered struct {
	cut      federation.LSN
	previous federation.Epoch
	accepted bool // an admin has abandoned what was found corrupt
	who, why string
}

func (r *recovered) append(dst []byte) []byte {
	dst = appendU64(dst, uint64(r.cut))
	dst = appendU64(dst, uint64(r.previous))
	accepted := byte(0)
	if r.accepted {
		accepted = 1
	}
	dst = append(dst, accepted)
	dst = appendText(dst, r.who)
	return appendText(dst, r.why)
}

func parseRecovered(payload []byte) (recovered, error) {
	f := fields{b: payload}
	r := recovered{cut: f.lsn(), previous: federation.Epoch(f.u64())}
	switch f.u8() {
	case 0:
	case 1:
		r.accepted = true
	default:
		f.fail("RECOVERED")
	}
	r.who, r.why = f.text(), f.text()
	return r, f.end()
}

func appendMoved(dst []byte, segments []uint64) []byte {
	dst = appendU32(dst, uint32(len(segments)))
	for _, n := range segments {
		dst = appendU64(dst, n)
	}
	return dst
}

func parseMoved(payload []byte) ([]uint64, error) {
	f := fields{b: payload}
	segments := make([]uint64, f.count(8))
	for i := range segments {
		segments[i] = f.u64()
	}
	return segments, f.end()
}

// checkpoint is all that the spool knew as of an LSN, less what stands in the segments' own indexes. It is complete
// when all its parts are there, in consecutive groups of one segment.
type checkpoint struct {
	asOf        federation.LSN
	part, parts uint16
	marks       []keyedMark
	segments    []tableEntry
	highest     []laneHighest
	audits      []ownAudit
}

// laneHighest is the highest offset of a numbering that was ever stored. It outlives the batches: without it, a lost
// segment could hide the end of a lane, and offsets would be given twice.
type laneHighest struct {
	key    laneKey
	offset federation.Offset
}

// tableEntry is one line of a checkpoint's segment table.
type tableEntry struct {
	number   uint64
	valid    int64 // bytes up to the end of the last group
	last     federation.LSN
	live     uint64
	accepted bool
}

const (
	minMarkBytes    = 8 + 1 + 4
	tableBytes      = 8 + 8 + 8 + 8 + 1
	minHighestBytes = 1 + 8
	minAuditBytes   = 8 + 2 + 2 + 8
)

func (c *checkpoint) append(dst []byte) []byte {
	dst = appendU64(dst, uint64(c.asOf))
	dst = append(dst, byte(c.part), byte(c.part>>8), byte(c.parts), byte(c.parts>>8))
	dst = appendU32(dst, uint32(len(c.marks)))
	for _, m := range c.marks {
		dst = appendMark(dst, m.lsn, m.key, m.value)
	}
	dst = appendU32(dst, uint32(len(c.segments)))
	for _, s := range c.segments {
		dst = s.append(dst)
	}
	dst = appendU32(dst, uint32(len(c.highest)))
	for _, h := range c.highest {
		dst = appendU64(appendLaneKey(dst, h.key), uint64(h.offset))
	}
	dst = appendU32(dst, uint32(len(c.audits)))
	for i := range c.audits {
		dst = appendAudit(dst, c.audits[i].lsn, &c.audits[i].AuditRecord)
	}
	return dst
}

func (t *tableEntry) append(dst []byte) []byte {
	dst = appendU64(dst, t.number)
	dst = appendU64(dst, uint64(t.valid))
	dst = appendU64(dst, uint64(t.last))
	dst = appendU64(dst, t.live)
	if t.accepted {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func parseCheckpoint(payload []byte) (*checkpoint, error) {
	f := fields{b: payload}
	c := &checkpoint{asOf: f.lsn(), part: f.u16(), parts: f.u16()}
	for n := f.count(minMarkBytes); n > 0 && f.err == nil; n-- {
		key, m := f.mark()
		c.marks = append(c.marks, keyedMark{key, m})
	}
	for n := f.count(tableBytes); n > 0 && f.err == nil; n-- {
		c.segments = append(c.segments, tableEntry{f.u64(), int64(f.u64()), f.lsn(), f.u64(), f.u8() == 1})
	}
	for n := f.count(minHighestBytes); n > 0 && f.err == nil; n-- {
		c.highest = append(c.highest, laneHighest{f.laneKey(), federation.Offset(f.u64())})
	}
	for n := f.count(minAuditBytes); n > 0 && f.err == nil; n-- {
		c.audits = append(c.audits, f.audit())
	}
	if err := f.end(); err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	if c.part >= c.parts {
		return nil, fmt.Errorf("checkpoint part %d of %d: %w", c.part, c.parts, federation.ErrCorrupt)
	}
	return c, nil
}
