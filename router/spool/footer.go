package spool

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"cloudqueue/federation"
)

const (
	footerMagic     = "CQF1"
	trailerMagic    = "CQE1"
	footerHeadSize  = 64
	trailerSize     = 16
	extentSize      = 24
	maxSummary      = 64 << 20 // bytes; chosen: 100,000 parked messages take 20 MB
	minLaneSummary  = 1 + 4 + 4 + 4
	runSize         = 8 + 8 + 8 + 4
	minParkSummary  = 16
	minPlaceSummary = 10
)

// footer ends a segment that was closed in good order. It is an index: whoever finds none, or a bad one, scans the
// segment.
//
//	head      64 bytes
//	 off size field
//	   0    4 magic "CQF1"
//	   4    4 length of head and summary together
//	   8    8 LSN of the segment's first group
//	  16    8 LSN of its last group: all its groups were durable before the footer was written
//	  24    8 position of this footer: the end of the last group
//	  32    8 epoch
//	  40    4 length of the whole footer with its trailer
//	  44   16 zero
//	  60    4 CRC32C of bytes 0 to 59, seeded with the salt and the footer's position
//	summary   lanes n u32 × {lane and generation (key of a LANE_HIGH mark), runs n u32 × {first u64, last u64, bytes u64, batches u32},
//	                         extents n u32, CRC32C of these extents u32},
//	          parks n u32 × {id, own LSN u64, reason text, last ms u64, bytes u64, position u32, length u32},
//	          unparks n u32 × {id, own LSN u64, position u32, length u32},
//	          others n u32 × {type u8, flags u8, position u32, length u32},
//	          CRC32C of the summary before it u32, seeded with the salt and the position of the summary
//	extents   of all lanes in the order of the summary, sorted by first offset:
//	          first u64, count u32, position u32, length u32, first four bytes of the digest u32
//	zeros     so that the trailer ends at a multiple of the alignment
//	trailer   length of the whole footer u32, length of head and summary u32,
//	          CRC32C of these 8 bytes u32, seeded with the salt and the trailer's position; magic "CQE1"
//
// The summary is read at every opening, the extents of a lane when it is read: memory does not grow with the backlog.
func encodeFooter(c *content, h *segmentHeader, position int64) []byte {
	summary, extents := c.summarize(h.salt, position+footerHeadSize)
	size := align(footerHeadSize+int64(len(summary))+int64(len(extents))+trailerSize, h.alignment)
	b := make([]byte, footerHeadSize, size)
	copy(b, footerMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(footerHeadSize+len(summary)))
	binary.LittleEndian.PutUint64(b[8:], uint64(c.first))
	binary.LittleEndian.PutUint64(b[16:], uint64(c.last))
	binary.LittleEndian.PutUint64(b[24:], uint64(position))
	binary.LittleEndian.PutUint64(b[32:], uint64(h.epoch))
	binary.LittleEndian.PutUint32(b[40:], uint32(size))
	binary.LittleEndian.PutUint32(b[60:], salted(h.salt, position, b[:60]))
	b = append(append(b, summary...), extents...)
	b = b[:size]
	t := b[size-trailerSize:]
	binary.LittleEndian.PutUint32(t, uint32(size))
	binary.LittleEndian.PutUint32(t[4:], uint32(footerHeadSize+len(summary)))
	binary.LittleEndian.PutUint32(t[8:], salted(h.salt, position+size-trailerSize, t[:8]))
	copy(t[12:], trailerMagic)
	return b
}

// summarize encodes the summary, and the extents that follow it.
func (c *content) summarize(salt uint64, position int64) (summary, extents []byte) {
	keys := slices.SortedFunc(maps.Keys(c.lanes), compareLaneKeys)
	summary = appendU32(nil, uint32(len(keys)))
	for _, key := range keys {
		lane := c.lanes[key]
		start := len(extents)
		extents = appendExtents(extents, lane.extents)
		summary = appendLaneKey(summary, key)
		summary = appendRuns(summary, lane.runs)
		summary = appendU32(summary, uint32(len(lane.extents)))
		summary = appendU32(summary, salted(salt, int64(start), extents[start:]))
	}
	summary = c.appendParks(summary)
	summary = appendU32(summary, salted(salt, position, summary))
	return summary, extents
}

func (c *content) appendParks(dst []byte) []byte {
	dst = appendU32(dst, uint32(len(c.parks)))
	for i := range c.parks {
		p := &c.parks[i]
		dst = appendParkID(dst, p.info.ID)
		dst = appendU64(dst, uint64(p.lsn))
		dst = appendText(dst, p.info.Reason)
		dst = appendTime(dst, p.info.Last)
		dst = appendU64(dst, p.info.Bytes)
		dst = appendU32(appendU32(dst, p.at.position), p.at.length)
	}
	dst = appendU32(dst, uint32(len(c.unparks)))
	for _, u := range c.unparks {
		dst = appendParkID(dst, u.id)
		dst = appendU64(dst, uint64(u.lsn))
		dst = appendU32(appendU32(dst, u.at.position), u.at.length)
	}
	dst = appendU32(dst, uint32(len(c.others)))
	for _, o := range c.others {
		dst = append(dst, byte(o.kind), o.flags)
		dst = appendU32(appendU32(dst, o.position), o.length)
	}
	return dst
}

func appendRuns(dst []byte, runs []run) []byte {
	dst = appendU32(dst, uint32(len(runs)))
	for _, r := range runs {
		dst = appendU64(appendU64(appendU64(dst, uint64(r.first)), uint64(r.last)), r.bytes)
		dst = appendU32(dst, r.batches)
	}
	return dst
}

func appendExtents(dst []byte, extents []extent) []byte {
	for _, e := range extents {
		dst = appendU64(dst, uint64(e.first))
		dst = appendU32(appendU32(appendU32(appendU32(dst, e.count), e.position), e.length), e.digest)
	}
	return dst
}

// footerHead is the head of a footer.
type footerHead struct {
	summaryLength, length int64
	first, last           federation.LSN
	position              int64
}

// parseFooterHead reads the head of a footer that stands at position. Errors wrap federation.ErrCorrupt.
func parseFooterHead(b []byte, h *segmentHeader, position int64) (footerHead, error) {
	var f footerHead
	if len(b) < footerHeadSize || string(b[:4]) != footerMagic ||
		binary.LittleEndian.Uint32(b[60:]) != salted(h.salt, position, b[:60]) {
		return f, fmt.Errorf("no footer: %w", federation.ErrCorrupt)
	}
	f.summaryLength = int64(binary.LittleEndian.Uint32(b[4:]))
	f.first = federation.LSN(binary.LittleEndian.Uint64(b[8:]))
	f.last = federation.LSN(binary.LittleEndian.Uint64(b[16:]))
	f.position = int64(binary.LittleEndian.Uint64(b[24:]))
	f.length = int64(binary.LittleEndian.Uint32(b[40:]))
	if f.position != position || federation.Epoch(binary.LittleEndian.Uint64(b[32:])) != h.epoch ||
		f.summaryLength < footerHeadSize || f.summaryLength > min(f.length, maxSummary) {
		return f, fmt.Errorf("a footer's head: %w", federation.ErrCorrupt)
	}
	return f, nil
}

// laneSummary is a line of the summary: the runs, and where the extents stand.
type laneSummary struct {
	runs    []run
	extents int // number
	crc     uint32
	offset  int64 // of the extents' first byte behind the summary
}

// summary is a footer's summary, with the extents left in the store.
type summary struct {
	first, last federation.LSN
	valid       int64 // the end of the last group
	extentsAt   int64 // position of the extents
	lanes       map[laneKey]laneSummary
	parks       []parkPlace
	unparks     []ownID
	others      []place
}

// parseSummary reads what stands between a footer's head and its extents. Errors wrap federation.ErrCorrupt.
func parseSummary(b []byte, h *segmentHeader, head footerHead) (*summary, error) {
	if len(b) < 4 || binary.LittleEndian.Uint32(b[len(b)-4:]) != salted(h.salt, head.position+footerHeadSize,
		b[:len(b)-4]) {
		return nil, fmt.Errorf("checksum of a footer's summary: %w", federation.ErrCorrupt)
	}
	f := fields{b: b[:len(b)-4]}
	s := &summary{first: head.first, last: head.last, valid: head.position,
		extentsAt: head.position + head.summaryLength, lanes: make(map[laneKey]laneSummary)}
	var offset int64
	for n := f.count(minLaneSummary); n > 0 && f.err == nil; n-- {
		key := f.laneKey()
		lane := laneSummary{runs: f.runs(), extents: int(f.u32()), crc: f.u32(), offset: offset}
		offset += int64(lane.extents) * extentSize
		s.lanes[key] = lane
	}
	if offset > head.length {
		f.fail("extents beyond the footer")
	}
	f.parkSummaries(s)
	return s, f.end()
}

func (f *fields) runs() []run {
	n := f.count(runSize)
	if n > maxRuns {
		f.fail("too many runs")
		return nil
	}
	runs := make([]run, n)
	for i := range runs {
		runs[i] = run{federation.Offset(f.u64()), federation.Offset(f.u64()), f.u64(), f.u32()}
	}
	return runs
}

func (f *fields) parkSummaries(s *summary) {
	for n := f.count(minParkSummary); n > 0 && f.err == nil; n-- {
		p := parkPlace{info: ParkedInfo{ID: f.parkID()}, lsn: f.lsn()}
		p.info.Reason, p.info.Last, p.info.Bytes = f.text(), f.time(), f.u64()
		p.at = place{typePark, flagCritical, f.u32(), f.u32()}
		s.parks = append(s.parks, p)
	}
	for n := f.count(minParkSummary); n > 0 && f.err == nil; n-- {
		s.unparks = append(s.unparks, ownID{f.parkID(), f.lsn(), place{typeUnpark, flagCritical, f.u32(), f.u32()}})
	}
	for n := f.count(minPlaceSummary); n > 0 && f.err == nil; n-- {
		s.others = append(s.others, place{recordType(f.u8()), f.u8(), f.u32(), f.u32()})
	}
}

// parseExtents reads the extents of one lane, sorted by first offset. Errors wrap federation.ErrCorrupt.
func parseExtents(b []byte, salt uint64, lane laneSummary) ([]extent, error) {
	if salted(salt, lane.offset, b) != lane.crc || len(b) != lane.extents*extentSize {
		return nil, fmt.Errorf("checksum of a lane's extents: %w", federation.ErrCorrupt)
	}
	f := fields{b: b}
	extents := make([]extent, lane.extents)
	for i := range extents {
		e := extent{federation.Offset(f.u64()), f.u32(), f.u32(), f.u32(), f.u32()}
		if e.count == 0 || e.count > federation.MaxEntries || e.first == 0 ||
			uint64(e.first) > math.MaxUint64-federation.MaxEntries {
			f.fail("an extent")
		}
		extents[i] = e
	}
	return extents, f.end()
}
