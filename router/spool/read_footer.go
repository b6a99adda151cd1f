package spool

import (
	"encoding/binary"
	"fmt"

	"cloudqueue/federation"
)

// readFooter finds the footer from the end of a segment and reads its summary. Errors wrap federation.ErrCorrupt when
// there is none.
func readFooter(r Reader, h *segmentHeader) (*summary, error) {
	size, err := r.Size()
	if err != nil {
		return nil, err
	}
	trailer := make([]byte, trailerSize)
	if size < segmentHeaderSize+footerHeadSize+trailerSize {
		return nil, fmt.Errorf("no footer: %w", federation.ErrCorrupt)
	}
	if n, err := readFull(r, trailer, size-trailerSize); err != nil || n < trailerSize {
		return nil, errOr(err, "no trailer")
	}
	if string(trailer[12:]) != trailerMagic || binary.LittleEndian.Uint32(trailer[8:]) != salted(h.salt,
		size-trailerSize, trailer[:8]) {
		return nil, fmt.Errorf("no trailer: %w", federation.ErrCorrupt)
	}
	length, summaryLength := int64(binary.LittleEndian.Uint32(trailer)), int64(binary.LittleEndian.Uint32(trailer[4:]))
	if length > size-segmentHeaderSize || summaryLength < footerHeadSize || summaryLength > min(length, maxSummary) {
		return nil, fmt.Errorf("a trailer of a footer of %d bytes: %w", length, federation.ErrCorrupt)
	}
	return readSummary(r, h, size-length, summaryLength)
}

func readSummary(r Reader, h *segmentHeader, position, length int64) (*summary, error) {
	b := make([]byte, length)
	if n, err := readFull(r, b, position); err != nil || int64(n) < length {
		return nil, errOr(err, "a footer is cut off")
	}
	head, err := parseFooterHead(b, h, position)
	if err != nil {
		return nil, err
	}
	if head.summaryLength != length {
		return nil, fmt.Errorf("head and trailer of a footer differ: %w", federation.ErrCorrupt)
	}
	return parseSummary(b[footerHeadSize:], h, head)
}

// readExtents reads the extents of one lane from a segment's footer.
func readExtents(r Reader, h *segmentHeader, key laneKey) ([]extent, error) {
	s, err := readFooter(r, h)
	if err != nil {
		return nil, err
	}
	lane, ok := s.lanes[key]
	if !ok {
		return nil, nil
	}
	b := make([]byte, lane.extents*extentSize)
	if n, err := readFull(r, b, s.extentsAt+lane.offset); err != nil || n < len(b) {
		return nil, errOr(err, "a lane's extents are cut off")
	}
	return parseExtents(b, h.salt, lane)
}

func errOr(err error, what string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", what, federation.ErrCorrupt)
}
