package wan

import (
	"bytes"
	"errors"
	"io"
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
		got, err := readPayload(&chopped{b: append(want[:n:n], 1, 2, 3)}, n)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
		if n == 0 {
			continue
		}
		if _, err := readPayload(&chopped{b: want[:n-1]}, n); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %v", n-1, n, err)
		}
	}
}
