package spool

import (
	"encoding/binary"
	"fmt"
	"time"

	"cloudqueue/federation"
)

const (
	segmentHeaderSize = 512 // specified (design section 13): one sector, written whole or not at all by most disks
	segmentMagic      = "CQS1"
	formatVersion     = 1
	minReaderVersion  = 1
)

// segmentHeader is the first 512 bytes of a segment. It is written, and made durable, when the segment is opened ahead;
// so it knows no LSN.
//
//	off size field
//	  0    4 magic "CQS1"
//	  4    2 version of the format, 1
//	  6    2 lowest version of a reader that can read it, 1
//	  8   16 store id
//	 24    8 born, ms since 1970
//	 32    8 epoch of the opening that wrote the segment
//	 40    8 number of the segment
//	 48    8 number of the segment that was active when this one was opened; 0 none
//	 56    8 created, ms since 1970
//	 64    8 salt of all other checksums of the segment, random
//	 72    4 alignment of groups, a power of two, 8 to 4096
//	 76  432 zero
//	508    4 CRC32C of bytes 0 to 507, seeded with salt 0 and position 0
//
// All integers are little endian. A reader that meets a bad header regards the whole segment as corrupt, unless the
// segment holds nothing else and nothing refers to it.
type segmentHeader struct {
	store     federation.StoreID
	born      time.Time
	epoch     federation.Epoch
	number    uint64
	previous  uint64
	created   time.Time
	salt      uint64
	alignment int
}

func (h *segmentHeader) encode() []byte {
	b := make([]byte, 0, segmentHeaderSize)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint16(b, formatVersion)
	b = binary.LittleEndian.AppendUint16(b, minReaderVersion)
	b = append(b, h.store[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.born.UnixMilli()))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.epoch))
	b = binary.LittleEndian.AppendUint64(b, h.number)
	b = binary.LittleEndian.AppendUint64(b, h.previous)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.created.UnixMilli()))
	b = binary.LittleEndian.AppendUint64(b, h.salt)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.alignment))
	b = b[:segmentHeaderSize]
	binary.LittleEndian.PutUint32(b[508:], salted(0, 0, b[:508]))
	return b
}

// parseSegmentHeader reads a header. Errors wrap federation.ErrCorrupt or federation.ErrVersion.
func parseSegmentHeader(b []byte) (segmentHeader, error) {
	var h segmentHeader
	if len(b) < segmentHeaderSize {
		return h, fmt.Errorf("segment header of %d bytes: %w", len(b), federation.ErrCorrupt)
	}
	b = b[:segmentHeaderSize]
	if string(b[:4]) != segmentMagic || binary.LittleEndian.Uint32(b[508:]) != salted(0, 0, b[:508]) {
		return h, fmt.Errorf("segment header: %w", federation.ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint16(b[6:]); v > formatVersion {
		return h, fmt.Errorf("segment header asks for a reader of version %d: %w", v, federation.ErrVersion)
	}
	copy(h.store[:], b[8:])
	h.born = time.UnixMilli(int64(binary.LittleEndian.Uint64(b[24:])))
	h.epoch = federation.Epoch(binary.LittleEndian.Uint64(b[32:]))
	h.number = binary.LittleEndian.Uint64(b[40:])
	h.previous = binary.LittleEndian.Uint64(b[48:])
	h.created = time.UnixMilli(int64(binary.LittleEndian.Uint64(b[56:])))
	h.salt = binary.LittleEndian.Uint64(b[64:])
	h.alignment = int(binary.LittleEndian.Uint32(b[72:]))
	if !validAlignment(h.alignment) {
		return h, fmt.Errorf("segment header: alignment %d: %w", h.alignment, federation.ErrCorrupt)
	}
	return h, nil
}

func validAlignment(n int) bool { return n >= 8 && n <= 4096 && n&(n-1) == 0 }

// align rounds n up to a multiple of alignment.
func align(n int64, alignment int) int64 {
	a := int64(alignment)
	return (n + a - 1) &^ (a - 1)
}
