package localdir

import (
	"crypto/rand"
	"io"
)

// writeNoise takes disk space by writing: random bytes, as a file system that compresses or shares equal blocks keeps
// zeros for nothing.
func writeNoise(w io.Writer, n int64) error {
	_, err := io.CopyN(w, rand.Reader, n)
	return err
}
