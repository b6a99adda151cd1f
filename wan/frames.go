package wan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"cloudqueue/federation"
)

// maxHello is the most bytes of a HELLO or HELLO_ACK that we read of a peer whose hello we do not know yet.
const maxHello = 16 << 10

// Memory for frames that are not complete. eager is how much is allocated on the word of a frame's header alone; beyond
// it memory grows with the bytes that really come, up to maxPartial for all streams of a link together (chosen: 16 of
// the largest batches, one on each stream of four classes).
const (
	eager      = 1 << 20
	maxPartial = 256 << 20
)

// frameReader reads the frames of one stream.
type frameReader struct {
	r        *bufio.Reader
	maxFrame int           // bytes of a payload, over the limit that federation has for its type
	partial  *atomic.Int64 // bytes beyond eager of the link's incomplete frames; nil: not counted
	head     [federation.FrameHeaderSize]byte
}

func newFrameReader(r io.Reader, buffer, maxFrame int) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, buffer), maxFrame: maxFrame}
}

// preamble reads the first bytes of a stream.
func (f *frameReader) preamble() (federation.StreamPreamble, error) {
	var b [4]byte
	if _, err := io.ReadFull(f.r, b[:]); err != nil {
		return federation.StreamPreamble{}, err
	}
	p, err := federation.ParsePreamble(b[:])
	if err != nil {
		return p, protocolError("preamble: %v", err)
	}
	return p, nil
}

// next reads a frame; unknown ones that are not critical are passed over. io.EOF means that the stream ended between
// two frames.
func (f *frameReader) next() (federation.Frame, int, error) {
	for {
		if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
			return nil, 0, err
		}
		h, err := federation.ParseFrameHeader(f.head[:])
		if err == nil && int(h.Length) > f.maxFrame {
			err = fmt.Errorf("%w: a frame of %d bytes, at most %d are taken", federation.ErrTooLarge, h.Length,
				f.maxFrame)
		}
		if err != nil {
			return nil, 0, protocolError("frame header: %v", err)
		}
		payload, err := f.payload(int(h.Length))
		if err != nil {
			return nil, 0, err
		}
		frame, err := federation.ParseFrame(h, payload)
		if err != nil {
			return nil, 0, protocolError("frame of type %d: %v", h.Type, err)
		}
		if frame != nil {
			return frame, len(f.head) + len(payload), nil
		}
	}
}

// payload reads n bytes into memory of their own.
func (f *frameReader) payload(n int) ([]byte, error) {
	b := make([]byte, min(n, eager))
	defer func() { f.grow(min(n, eager) - len(b)) }()
	for have := 0; ; {
		got, err := io.ReadFull(f.r, b[have:])
		if have += got; err != nil {
			return nil, noEOF(err)
		}
		if have == n {
			return b, nil
		}
		longer := make([]byte, min(n, 2*have))
		if err := f.grow(len(longer) - len(b)); err != nil {
			return nil, err
		}
		copy(longer, b)
		b = longer
	}
}

// grow counts bytes of an incomplete frame.
func (f *frameReader) grow(bytes int) error {
	if f.partial == nil || bytes == 0 || f.partial.Add(int64(bytes)) <= maxPartial || bytes < 0 {
		return nil
	}
	f.partial.Add(int64(-bytes))
	return &closeError{codeOverload, "partial-frames",
		fmt.Sprintf("incomplete frames take more than %d MiB", maxPartial>>20)}
}

// extended tells whether an extension is there.
func extended(list []federation.TLV, tag uint64) bool {
	return slices.ContainsFunc(list, func(t federation.TLV) bool { return t.Tag == tag })
}

// noEOF says that a frame was cut, which is no regular end of a stream.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
