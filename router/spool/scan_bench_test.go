package spool

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkScanOfASpoiledTail is what an opening after a power failure does with what a disk left behind the last good group.
func BenchmarkScanOfASpoiledTail(b *testing.B) {
	const size = 64 << 20
	segment := make([]byte, size)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(segment); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		e, err := scannerOf(b, segment).lookBehind(b.Context())
		if err != nil || e.resume != 0 || e.clean {
			b.Fatalf("%+v, %v", e, err)
		}
	}
}
