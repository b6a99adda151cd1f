package wan

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"cloudqueue/federation"
)

// maxHello is the most bytes of a HELLO or HELLO_ACK that we read of a peer whose hello we do not know yet.
const maxHello = 16 << 10

// eager is how much of a frame is allocated on the word of its header alone; beyond it memory grows with the bytes that really come.
const eager = 1 << 20

// frameReader reads the frames of one stream.
type frameReader struct {
	r        *bufio.Reader
	maxFrame int // bytes of a payload, over the limit that federation has for its type
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

// next reads a frame; unknown ones that are not critical are passed over. io.EOF means that the stream ended between two frames.
func (f *frameReader) next() (federation.Frame, int, error) {
	for {
		if _, err := io.ReadFull(f.r, f.head[:]); err != nil {
			return nil, 0, err
		}
		h, err := federation.ParseFrameHeader(f.head[:])
		if err == nil && int(h.Length) > f.maxFrame {
			err = fmt.Errorf("%w: a frame of %d bytes, at most %d are taken", federation.ErrTooLarge, h.Length, f.maxFrame)
		}
		if err != nil {
			return nil, 0, protocolError("frame header: %v", err)
		}
		payload, err := readPayload(f.r, int(h.Length))
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

// readPayload reads n bytes into memory of their own.
func readPayload(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, eager))
	for have := 0; ; {
		got, err := io.ReadFull(r, b[have:])
		if have += got; err != nil {
			return nil, noEOF(err)
		}
		if have == n {
			return b, nil
		}
		longer := make([]byte, min(n, 2*have))
		copy(longer, b)
		b = longer
	}
}

// noEOF says that a frame was cut, which is no regular end of a stream.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
