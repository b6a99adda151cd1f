package load

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
	"time"
)

func event(index uint64) Event {
	return Event{Lane: "ams/orders", Index: index, Sent: time.Unix(1_764_532_800, int64(index))}
}

func TestEventsHaveTheExactSizeAndAreJSON(t *testing.T) {
	for _, size := range []int{MinSize, 333, 512, 1024, 4096, 16384} {
		body := NewGenerator(1, size).Append(nil, event(1<<40))
		if len(body) != size || !json.Valid(body) {
			t.Errorf("size %d: got %d bytes, valid JSON %v:\n%s", size, len(body), json.Valid(body), body)
		}
	}
}

func TestEventsCompressLikeTheBaselines(t *testing.T) {
	// The figures that peers were measured with (decisions.md, M10): gzip -6 of 1 KiB events.
	for _, test := range []struct {
		batch    int
		from, to float64
	}{{1, 0.59, 0.62}, {10, 0.30, 0.33}, {100, 0.235, 0.25}, {1000, 0.225, 0.24}} {
		got := gzipRatio(t, 1024, test.batch)
		t.Logf("batch of %d: %.3f", test.batch, got)
		if got < test.from || got > test.to {
			t.Errorf("batch of %d: gzip leaves %.3f, want %.2f to %.2f", test.batch, got, test.from, test.to)
		}
	}
}

func gzipRatio(t *testing.T, size, batch int) float64 {
	t.Helper()
	var raw []byte
	g := NewGenerator(1, size)
	for i := range batch {
		raw = g.Append(raw, event(uint64(i+1)))
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, 6)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(raw)
	w.Close()
	return float64(packed.Len()) / float64(len(raw))
}

func TestCheckReadsWhatAppendWrote(t *testing.T) {
	body := NewGenerator(1, 1024).Append(nil, event(77))

	got, intact := NewGenerator(1, 333).Check(body)

	if !intact || got.Lane != "ams/orders" || got.Index != 77 || !got.Sent.Equal(event(77).Sent) {
		t.Errorf("got %+v, intact %v; want index 77, true", got, intact)
	}
}

func TestCheckSeesEveryChangedByte(t *testing.T) {
	g := NewGenerator(1, 1024)
	body := g.Append(nil, event(77))
	for i := range body {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		if _, intact := g.Check(changed); intact {
			t.Fatalf("byte %d changed from %q to %q: not seen", i, body[i], changed[i])
		}
	}
}

func TestCheckRefusesOthersBodies(t *testing.T) {
	g := NewGenerator(1, 1024)
	for _, body := range []string{"", "{}", `{"lane":"a","index":x,"sent":1,"`, `{"lane":"a","index":1,"sent":1,"`} {
		if e, intact := g.Check([]byte(body)); intact {
			t.Errorf("%q passed as %+v", body, e)
		}
	}
}

func BenchmarkAppendEvent1KiB(b *testing.B) {
	g := NewGenerator(1, 1024)
	body := make([]byte, 0, 1024)
	b.SetBytes(1024)
	b.ReportAllocs()
	for b.Loop() {
		body = g.Append(body[:0], event(1))
	}
}
