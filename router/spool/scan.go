package spool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"cloudqueue/federation"
)

// scanner walks the groups of one segment. It stops at the first thing that is not a good group in its place.
type scanner struct {
	header segmentHeader
	data   chunks
	at     int64          // the position that comes next
	last   federation.LSN // of the group before; 0 at the start
}

// scannedGroup is a good group. body is valid until the scanner moves on.
type scannedGroup struct {
	groupHeader
	position int64
	body     []byte
}

// newScanner begins at the first group. Its error is the store's.
func newScanner(r Reader, h segmentHeader) (*scanner, error) {
	size, err := r.Size()
	return &scanner{header: h, data: chunks{r: r, size: size}, at: segmentHeaderSize}, err
}

// next gives the next good group. errStop when there is none: stop tells why. Other errors are the store's, or wrap
// federation.ErrVersion.
func (s *scanner) next() (scannedGroup, error) {
	head, err := s.data.at(s.at, groupHeaderSize)
	if err != nil {
		return scannedGroup{}, err
	}
	h, err := parseGroupHeader(head, &s.header, s.at)
	if err != nil {
		return scannedGroup{}, stopOrVersion(err)
	}
	if s.last != 0 && h.lsn != s.last+1 || s.at+h.size() > s.data.size {
		return scannedGroup{}, errStop
	}
	whole, err := s.data.at(s.at, int(h.size()))
	if err != nil {
		return scannedGroup{}, err
	}
	if int64(len(whole)) < h.size() {
		return scannedGroup{}, errStop
	}
	body := whole[groupHeaderSize:]
	if salted(s.header.salt, s.at+groupHeaderSize, body) != h.bodyCRC {
		return scannedGroup{}, errStop
	}
	if err := splitRecords(body, h.records, func(rawRecord) error { return nil }); err != nil {
		return scannedGroup{}, errStop
	}
	g := scannedGroup{h, s.at, body}
	s.at += h.size()
	s.last = h.lsn
	return g, nil
}

// errStop says that no good group stands at the position that comes next.
var errStop = errors.New("no good group here")

func stopOrVersion(err error) error {
	if errors.Is(err, federation.ErrVersion) {
		return err
	}
	return errStop
}

// ending is what was found behind the last good group.
type ending struct {
	end     int64          // of the last good group
	clean   bool           // zeros, a footer or nothing follow
	footer  bool           // a footer stands at end
	claimed federation.LSN // the highest LSN that anything behind the end says was durable
	resume  int64          // position of the next thing with a good head; 0 when there is none
	next    federation.LSN // the LSN of the group there; 0 when it is the footer
}

// lookBehind looks at what follows the last good group. A header alone is believed: it was written when what it claims
// was true, even if its body is torn.
func (s *scanner) lookBehind(ctx context.Context) (ending, error) {
	e := ending{end: s.at}
	dirty := false
	for at := s.at; at < s.data.size; {
		if err := ctx.Err(); err != nil {
			return e, err
		}
		b, err := s.data.at(at, chunkSize)
		if err != nil {
			return e, err
		}
		if len(b) == 0 {
			break
		}
		if len(bytes.Trim(b, "\x00")) != 0 {
			dirty = true
			s.search(b, at, &e)
		}
		if e.footer {
			break
		}
		// Heads may straddle two chunks: go on one head before the end of this one, aligned.
		step := int64(len(b))
		if at+step < s.data.size {
			step = (step - footerHeadSize) &^ int64(s.header.alignment-1)
		}
		at += step
	}
	e.clean = !dirty || e.footer
	return e, nil
}

// search looks for heads of groups and footers in b, which stands at position base. Most of a tail is neither, so their
// magic is looked at before anything is parsed (BenchmarkScanOfASpoiledTail: a hundredth of the time).
func (s *scanner) search(b []byte, base int64, e *ending) {
	for i := 0; i+len(groupMagic) <= len(b) && !e.footer; i += s.header.alignment {
		position := base + int64(i)
		switch string(b[i : i+len(groupMagic)]) {
		case footerMagic:
			if f, err := parseFooterHead(b[i:], &s.header, position); err == nil {
				s.found(e, position, 0, f.last)
				e.footer = position == e.end
			}
		case groupMagic:
			if h, err := parseGroupHeader(b[i:], &s.header, position); err == nil && h.lsn > s.last {
				s.found(e, position, h.lsn, h.durable)
			}
		}
	}
}

func (s *scanner) found(e *ending, position int64, lsn, claimed federation.LSN) {
	if e.resume == 0 && position > e.end {
		e.resume, e.next = position, lsn
	}
	e.claimed = max(e.claimed, claimed)
}

// resumeAt goes on at a position that lookBehind has found.
func (s *scanner) resumeAt(e ending) { s.at, s.last = e.resume, e.next-1 }

// readHeader reads and checks the header of a segment of size bytes. bad tells why it cannot be used, and is empty when
// it can; blank, that the segment holds nothing behind the place of its header.
func readHeader(r io.ReaderAt, size int64, number uint64,
	identity Identity) (h segmentHeader, bad string, blank bool, err error) {
	data := chunks{r: r, size: size}
	head, err := data.at(0, segmentHeaderSize)
	if err != nil {
		return h, "", false, err
	}
	h, err = parseSegmentHeader(head)
	switch {
	case errors.Is(err, federation.ErrVersion):
		return h, "", false, err
	case err != nil:
		blank, err = zeros(&data, segmentHeaderSize)
		return h, "the segment's header is bad", blank, err
	case h.number != number:
		return h, fmt.Sprintf("the segment says that it is number %d", h.number), false, nil
	case !identity.Owns(h.store):
		return h, fmt.Sprintf("the segment belongs to store %s", h.store), false, nil
	case h.epoch > identity.Epoch:
		return h, fmt.Sprintf("the segment is of epoch %d, later than the store's %d", h.epoch, identity.Epoch), false,
			nil
	}
	return h, "", false, nil
}

// zeros tells whether nothing but zeros stands from position on.
func zeros(data *chunks, position int64) (bool, error) {
	for position < data.size {
		b, err := data.at(position, chunkSize)
		if err != nil {
			return false, err
		}
		if len(bytes.Trim(b, "\x00")) != 0 {
			return false, nil
		}
		if len(b) == 0 {
			return true, nil
		}
		position += int64(len(b))
	}
	return true, nil
}
