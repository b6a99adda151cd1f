package wan

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"
)

// chopped gives its bytes in pieces of growing length.
type chopped struct {
	b []byte
	n int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	c.n++
	n := copy(p[:min(len(p), c.n)], c.b)
	c.b = c.b[n:]
	return n, nil
}

func TestPayloadsOfAnySizeAreReadWhole(t *testing.T) {
	for _, n := range []int{0, 1, eager - 1, eager, eager + 1, 2 * eager, 2*eager + 1, 5*eager + 3} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i * 7)
		}
		var partial atomic.Int64
		read := func(b []byte) ([]byte, error) {
			r := newFrameReader(&chopped{b: b}, 16, 0)
			r.partial = &partial
			return r.payload(n)
		}
		got, err := read(append(want[:n:n], 1, 2, 3))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
		if n == 0 {
			continue
		}
		if _, err := read(want[:n-1]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n-1, n, err)
		}
		if left := partial.Load(); left != 0 {
			t.Errorf("%d bytes stay counted after frames of %d", left, n)
		}
	}
}

func TestIncompleteFramesOfALinkAreBoundedTogether(t *testing.T) {
	var partial atomic.Int64
	partial.Store(maxPartial - eager)
	r := newFrameReader(&chopped{b: make([]byte, 3*eager)}, 16, 0)
	r.partial = &partial

	_, err := r.payload(3 * eager)

	var wrong *closeError
	if !errors.As(err, &wrong) || wrong.code != codeOverload || partial.Load() != maxPartial-eager {
		t.Errorf("%v, %d bytes counted", err, partial.Load())
	}
}
