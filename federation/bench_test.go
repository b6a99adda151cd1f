package federation

import (
	"testing"

	"github.com/klauspost/compress/zstd"
)

// BenchmarkSeal1KiBx64Zstd is the hot path of the origin; bytes/msg is what crosses the WAN. The levels of zstd are
// there because zstdLevel rests on them.
func BenchmarkSeal1KiBx64Zstd(b *testing.B) {
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression} {
		b.Run(level.String(), func(b *testing.B) { benchmarkSeal(b, CodecZstd, level) })
	}
}

func BenchmarkSeal1KiBx64S2(b *testing.B)   { benchmarkSeal(b, CodecS2, zstdLevel) }
func BenchmarkSeal1KiBx64None(b *testing.B) { benchmarkSeal(b, CodecNone, zstdLevel) }

func benchmarkSeal(b *testing.B, codec Codec, level zstd.EncoderLevel) {
	coder := must(newCoder(level))
	entries, h := events(64), sampleHeader()
	batch := must(Seal(h, entries, codec, coder))
	b.SetBytes(int64(batch.Header.RawLength))
	b.ReportAllocs()
	for b.Loop() {
		batch = must(Seal(h, entries, codec, coder))
	}
	b.ReportMetric(float64(len(batch.Bytes()))/64, "bytes/msg")
}

func BenchmarkOpen1KiBx64Zstd(b *testing.B) { benchmarkOpen(b, CodecZstd) }
func BenchmarkOpen1KiBx64S2(b *testing.B)   { benchmarkOpen(b, CodecS2) }
func BenchmarkOpen1KiBx64None(b *testing.B) { benchmarkOpen(b, CodecNone) }

func benchmarkOpen(b *testing.B, codec Codec) {
	coder := mustCoder(b)
	batch := mustSeal(b, sampleHeader(), events(64), codec)
	b.SetBytes(int64(batch.Header.RawLength))
	b.ReportAllocs()
	for b.Loop() {
		must(batch.Open(coder))
	}
}

// BenchmarkParseBatch1KiBx64Zstd is what a relay does with a batch.
func BenchmarkParseBatch1KiBx64Zstd(b *testing.B) {
	bytes := mustSeal(b, sampleHeader(), events(64), CodecZstd).Bytes()
	b.SetBytes(int64(len(bytes)))
	b.ReportAllocs()
	for b.Loop() {
		must(ParseBatch(bytes))
	}
}

func BenchmarkCopyFrameRoundTrip1KiBx64Zstd(b *testing.B) {
	batch := mustSeal(b, sampleHeader(), events(64), CodecZstd).Bytes()
	c := Copy{Number: 1, Sidecar: Sidecar{Bitmap: 1, Path: []SiteID{"ams"}}, Batch: batch}
	var buffer []byte
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		buffer = must(AppendFrame(buffer[:0], c))
		must(decodeFrame(buffer))
	}
}

// BenchmarkJournalTakeEndCommit64 is the destination's bookkeeping of a batch of 64 messages.
func BenchmarkJournalTakeEndCommit64(b *testing.B) {
	s := NewJournalState(4096)
	s.Adopt(Sync{Join: 1, FirstStore: true})
	s.Committed(s.Mark())
	b.ReportAllocs()
	for b.Loop() {
		first := s.Next()
		s.Reserve(first+63, 10000)
		s.Committed(s.Mark())
		for n := first; n < first+64; n++ {
			s.Take(n, 7)
		}
		for n := first; n < first+64; n++ {
			s.End(n, EndDelivered)
		}
	}
}

// BenchmarkWindowPass12000Batches of one message each: what an idle lane leaves in a window of 4 MiB.
func BenchmarkWindowPass12000Batches(b *testing.B) {
	const batches = 12_000
	b.ReportAllocs()
	for b.Loop() {
		w := NewPositionWindow(1, batches*350)
		for n := Offset(1); n <= batches; n++ {
			w.Offer(Span{n, n}, 350)
		}
		for n := Offset(1); n <= batches; n++ {
			w.Advance(n + 1)
		}
	}
}
