package spool

import (
	"errors"
	"io"
)

// chunkSize is what a sequential read asks the store for at least. Chosen: 1 MiB keeps a disk and a DataNode streaming;
// more only costs memory.
const chunkSize = 1 << 20

// chunks reads a segment from front to back through one buffer.
type chunks struct {
	r     io.ReaderAt
	size  int64 // bytes that may be read
	start int64 // position of buf[0]
	buf   []byte
}

// at gives the n bytes at position, fewer at the end of the segment. They are valid until the next call. An error is
// the store's, never io.EOF.
func (c *chunks) at(position int64, n int) ([]byte, error) {
	n = int(max(0, min(int64(n), c.size-position)))
	if position >= c.start && position+int64(n) <= c.start+int64(len(c.buf)) {
		return c.buf[position-c.start:][:n], nil
	}
	want := int(min(int64(max(n, chunkSize)), c.size-position))
	if cap(c.buf) < want {
		c.buf = make([]byte, want)
	}
	got, err := readFull(c.r, c.buf[:want], position)
	c.start, c.buf = position, c.buf[:got]
	return c.buf[:min(n, got)], err
}

// readFull reads len(b) bytes at position, fewer only at the end of the segment.
func readFull(r io.ReaderAt, b []byte, position int64) (int, error) {
	got := 0
	for got < len(b) {
		n, err := r.ReadAt(b[got:], position+int64(got))
		got += n
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		if n == 0 {
			return got, io.ErrNoProgress
		}
	}
	return got, nil
}
