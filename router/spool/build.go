package spool

import (
	"fmt"

	"cloudqueue/federation"
)

// builder lays out groups for one write.
type builder struct {
	header  *segmentHeader
	at      int64 // position of buf[0] in the segment
	buf     []byte
	durable federation.LSN
}

// begin appends a group's header; end completes it. It returns where the group begins in buf.
func (b *builder) begin() int {
	start := len(b.buf)
	b.buf = append(b.buf, make([]byte, groupHeaderSize)...)
	return start
}

// end pads the group that begins at start and writes its header.
func (b *builder) end(start int, lsn federation.LSN, records uint32) {
	padded := int(align(int64(len(b.buf)-start), b.header.alignment))
	b.buf = append(b.buf, make([]byte, start+padded-len(b.buf))...)
	body := b.buf[start+groupHeaderSize:]
	h := groupHeader{bodyLength: uint32(len(body)), lsn: lsn, epoch: b.header.epoch, durable: min(b.durable, lsn-1),
		records: records}
	h.bodyCRC = salted(b.header.salt, b.at+int64(start)+groupHeaderSize, body)
	h.put(b.buf[start:], b.header.salt, b.at+int64(start))
}

// group appends a group of records and tells content where they are. A record that has no own LSN yet gets the group's.
func (b *builder) group(lsn federation.LSN, subs []*submission, c *content) {
	start := b.begin()
	c.addGroup(lsn)
	n := uint32(0)
	for _, s := range subs {
		for i := range s.records {
			r := &s.records[i]
			if r.hasOwnLSN() {
				setOwnLSN(r.payload, lsn)
			}
			b.buf = appendRecordHead(b.buf, r.kind, r.flags, len(r.payload))
			r.index(c, uint32(b.at)+uint32(len(b.buf)))
			b.buf = append(b.buf, r.payload...)
			n++
		}
	}
	b.end(start, lsn, n)
}

// index tells content that the record's payload stands at position.
func (r *encoded) index(c *content, position uint32) {
	at := place{r.kind, r.flags, position, uint32(len(r.payload))}
	switch r.kind {
	case typeBatch:
		h := &r.batch.Header
		c.addBatch(laneKey{h.Lane, h.Generation}, extentOf(r.batch, position))
	case typePark:
		c.parks = append(c.parks, parkPlace{r.park, ownLSN(r.payload), at})
	case typeUnpark:
		c.unparks = append(c.unparks, ownID{r.park.ID, ownLSN(r.payload), at})
	case typeMark, typeAudit, typeCheckpoint, typeRecovered, typeMoved:
	default:
		c.others = append(c.others, at)
	}
}

// held appends a group that was found at the end of the log, with the same LSN, less the CHECKPOINTs in it: a new one
// follows.
func (b *builder) held(g heldGroup, t *gathering) error {
	start := b.begin()
	t.content.addGroup(g.lsn)
	n := uint32(0)
	err := splitRecords(g.body, g.records, func(r rawRecord) error {
		if r.kind == typeCheckpoint {
			return nil
		}
		b.buf = appendRecordHead(b.buf, r.kind, r.flags, len(r.payload))
		at := place{r.kind, r.flags, uint32(b.at) + uint32(len(b.buf)), uint32(len(r.payload))}
		b.buf = append(b.buf, r.payload...)
		n++
		return t.record(r, at)
	})
	if err != nil {
		return fmt.Errorf("group %d: %w", g.lsn, err)
	}
	b.end(start, g.lsn, n)
	return nil
}

// checkpointPart is the bytes of marks in one part of a CHECKPOINT. Chosen: a quarter of the greatest record, so that
// one more mark always fits.
const checkpointPart = 4 << 20

// checkpoint appends a CHECKPOINT, each part in a group of its own, from LSN first on. It returns the LSN of the last
// one.
func (b *builder) checkpoint(first federation.LSN, whole *checkpoint, c *content) federation.LSN {
	parts := whole.split()
	for i, part := range parts {
		start := b.begin()
		payload := part.append(nil)
		b.buf = appendRecordHead(b.buf, typeCheckpoint, flagCritical, len(payload))
		b.buf = append(b.buf, payload...)
		lsn := first + federation.LSN(i)
		c.addGroup(lsn)
		b.end(start, lsn, 1)
	}
	return first + federation.LSN(len(parts)) - 1
}

// split cuts a checkpoint into parts of checkpointPart bytes of marks and lanes. Segments and audits are bounded, and
// stand in the first.
func (c *checkpoint) split() []*checkpoint {
	last := &checkpoint{asOf: c.asOf, segments: c.segments, audits: c.audits}
	parts := []*checkpoint{last}
	size := 0
	room := func(n int) {
		if size += n; size > checkpointPart {
			last, size = &checkpoint{asOf: c.asOf}, n
			parts = append(parts, last)
		}
	}
	for _, m := range c.marks {
		room(len(m.value) + maxKeyBytes)
		last.marks = append(last.marks, m)
	}
	for _, h := range c.highest {
		room(maxKeyBytes)
		last.highest = append(last.highest, h)
	}
	for i, p := range parts {
		p.part, p.parts = uint16(i), uint16(len(parts))
	}
	return parts
}

// maxKeyBytes is more than a key with its numbers takes: kind, lane of at most 133 bytes, generation, destination of at
// most 65, LSN.
const maxKeyBytes = 256
