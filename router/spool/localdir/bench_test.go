package localdir

import (
	"testing"
)

// BenchmarkSync16KiB is what one commit costs at least: a group of 16 KiB, written and made durable.
func BenchmarkSync16KiB(b *testing.B) {
	path := b.TempDir()
	if _, err := Init(path, home, birth); err != nil {
		b.Fatal(err)
	}
	d, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Claim(b.Context(), birth); err != nil {
		b.Fatal(err)
	}
	w, err := d.Create(b.Context(), 1)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	group := make([]byte, 16<<10)
	b.SetBytes(int64(len(group)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.Write(group); err != nil {
			b.Fatal(err)
		}
		if err := w.Sync(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
