//go:build !linux

package localdir

// Allocate takes space by writing.
func (f osFile) Allocate(n int64) error { return writeNoise(f.File, n) }
