package spool

import (
	"encoding/binary"
	"fmt"

	"cloudqueue/federation"
)

const (
	groupHeaderSize = 48
	groupMagic      = "CQG1"

	// MaxGroup is the bytes of a group's records. Chosen: two batches of the greatest size fit; four times that would
	// only cost memory at a scan.
	MaxGroup = 48 << 20
)

// groupHeader stands before what one commit made durable together.
//
//	off size field
//	  0    4 magic "CQG1"
//	  4    4 length of the body with its padding, at most MaxGroup + alignment
//	  8    8 LSN
//	 16    8 epoch, the same as the segment's
//	 24    8 durable LSN: the highest LSN that was known to be durable when this was written
//	 32    4 number of records in the body
//	 36    4 flags: zero
//	 40    4 CRC32C of the body with its padding, seeded with the segment's salt and the body's position
//	 44    4 CRC32C of bytes 0 to 43, seeded with the salt and the group's position
//
// Header and body together are a multiple of the segment's alignment; the body is padded with zeros. A reader that
// meets a bad group decides as doc.go says: corrupt when anything later says that it was durable, else the end of the
// log.
type groupHeader struct {
	bodyLength uint32
	lsn        federation.LSN
	epoch      federation.Epoch
	durable    federation.LSN
	records    uint32
	bodyCRC    uint32
}

// put writes the header over b[:48] for a group that stands at position.
func (h *groupHeader) put(b []byte, salt uint64, position int64) {
	copy(b, groupMagic)
	binary.LittleEndian.PutUint32(b[4:], h.bodyLength)
	binary.LittleEndian.PutUint64(b[8:], uint64(h.lsn))
	binary.LittleEndian.PutUint64(b[16:], uint64(h.epoch))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.durable))
	binary.LittleEndian.PutUint32(b[32:], h.records)
	binary.LittleEndian.PutUint32(b[36:], 0)
	binary.LittleEndian.PutUint32(b[40:], h.bodyCRC)
	binary.LittleEndian.PutUint32(b[44:], salted(salt, position, b[:44]))
}

// parseGroupHeader reads the header of a group that stands at position of a segment. Errors wrap federation.ErrCorrupt
// or federation.ErrVersion.
func parseGroupHeader(b []byte, segment *segmentHeader, position int64) (groupHeader, error) {
	var h groupHeader
	if len(b) < groupHeaderSize || string(b[:4]) != groupMagic {
		return h, fmt.Errorf("no group: %w", federation.ErrCorrupt)
	}
	if binary.LittleEndian.Uint32(b[44:]) != salted(segment.salt, position, b[:44]) {
		return h, fmt.Errorf("checksum of a group's header: %w", federation.ErrCorrupt)
	}
	h.bodyLength = binary.LittleEndian.Uint32(b[4:])
	h.lsn = federation.LSN(binary.LittleEndian.Uint64(b[8:]))
	h.epoch = federation.Epoch(binary.LittleEndian.Uint64(b[16:]))
	h.durable = federation.LSN(binary.LittleEndian.Uint64(b[24:]))
	h.records = binary.LittleEndian.Uint32(b[32:])
	h.bodyCRC = binary.LittleEndian.Uint32(b[40:])
	switch {
	case binary.LittleEndian.Uint32(b[36:]) != 0:
		return h, fmt.Errorf("flags of a group: %w", federation.ErrVersion)
	case h.bodyLength > MaxGroup+4096 || (groupHeaderSize+int64(h.bodyLength))%int64(segment.alignment) != 0:
		return h, fmt.Errorf("a group of %d bytes: %w", h.bodyLength, federation.ErrCorrupt)
	case h.lsn == 0 || h.durable >= h.lsn || h.epoch != segment.epoch:
		return h, fmt.Errorf("group %d of epoch %d, durable %d: %w", h.lsn, h.epoch, h.durable, federation.ErrCorrupt)
	}
	return h, nil
}

// size is the bytes that the group takes in its segment.
func (h *groupHeader) size() int64 { return groupHeaderSize + int64(h.bodyLength) }
