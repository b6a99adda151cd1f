package federation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

func TestEveryTruncationOfABatchIsRefused(t *testing.T) {
	for name, codec := range codecs {
		b := mustSeal(t, sampleHeader(), append(sampleEntries(), events(3)...), codec).Bytes()
		for n := range len(b) {
			if _, err := ParseBatch(b[:n]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: the first %d of %d bytes: error %v, want %v", name, n, len(b), err, ErrCorrupt)
			}
		}
		if _, err := ParseBatch(append(slices.Clone(b), 0)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: a byte too many: error %v, want %v", name, err, ErrCorrupt)
		}
	}
}

func TestEveryFlippedBitOfABatchIsRefused(t *testing.T) {
	for name, codec := range codecs {
		b := mustSeal(t, sampleHeader(), append(sampleEntries(), events(3)...), codec).Bytes()
		for i := range len(b) * 8 {
			flipped := slices.Clone(b)
			flipped[i/8] ^= 1 << (i % 8)
			if _, err := ParseBatch(flipped); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatalf("%s: bit %d of byte %d flipped: error %v, want %v or %v", name, i%8, i/8, err, ErrCorrupt, ErrVersion)
			}
		}
	}
}

// What a relay with bad memory could do: CRCs that fit, contents that do not. (Some bits of a compressed body mean
// nothing: the entries are then the same.)
func TestOpenUnderAFreshCRCGivesWhatWasSealedOrNothing(t *testing.T) {
	coder := mustCoder(t)
	for name, codec := range codecs {
		b := mustSeal(t, sampleHeader(), sampleEntries(), codec)
		header := len(b.bytes) - int(b.Header.BodyLength)
		digested := append(rangeOf(0, offDigest+32), rangeOf(headerFixed, b.tlvStart)...)
		for _, at := range append(digested, rangeOf(header, len(b.bytes))...) {
			for bit := range 8 {
				flipped := slices.Clone(b.bytes)
				flipped[at] ^= 1 << bit
				putCRCs(flipped[:header], flipped[header:])
				got, err := openBytes(flipped, coder)
				if err == nil && (at < header || !cmp.Equal(sampleEntries(), got, cmpopts.EquateEmpty())) {
					t.Fatalf("%s: bit %d of byte %d flipped: opened", name, bit, at)
				}
			}
		}
	}
}

func openBytes(b []byte, coder *Coder) ([]Entry, error) {
	batch, err := ParseBatch(b)
	if err != nil {
		return nil, err
	}
	return batch.Open(coder)
}

func rangeOf(from, to int) []int {
	var list []int
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// forge is a batch whose body and lengths the sender chose, with CRCs and digest that fit.
func forge(t *testing.T, codec Codec, count, rawLength uint32, raw, body []byte) []byte {
	t.Helper()
	h := sampleHeader()
	h.Codec, h.Count, h.RawLength, h.BodyLength = codec, count, rawLength, uint32(len(body))
	b, err := assemble(h, raw, body)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOpenOfADecompressionBombAllocatesNoMoreThanItsRawLength(t *testing.T) {
	zeros := make([]byte, 256<<20)
	encoder := must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
	bombs := map[string][]byte{
		"zstd says 1 MiB, holds 256":            forge(t, CodecZstd, 1, 1<<20, nil, encoder.EncodeAll(zeros, nil)),
		"zstd of unknown length holds 256":      forge(t, CodecZstd, 1, 1<<20, nil, withoutLength(t, zeros)),
		"s2 says 1 MiB, its head 256":           forge(t, CodecS2, 1, 1<<20, nil, s2.Encode(nil, zeros)),
		"s2 whose head says 4 GiB":              forge(t, CodecS2, 1, 1<<20, nil, binary.AppendUvarint(nil, 1<<32-1)),
		"zstd of many frames holds 256":         forge(t, CodecZstd, 1, 1<<20, nil, bytes.Repeat(encoder.EncodeAll(zeros[:1<<20], nil), 256)),
		"zstd with a window of 3 GiB":           forge(t, CodecZstd, 1, 1<<20, nil, []byte{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0xAC, 0x01, 0x00, 0x00}),
		"4096 entries in a raw body of nothing": forge(t, CodecZstd, 4096, 4096*minEntry, nil, []byte{0x28, 0xB5, 0x2F, 0xFD, 0x20, 0x00, 0x01, 0x00, 0x00}),
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			coder := mustCoder(t)
			must(mustSeal(t, sampleHeader(), events(4), CodecZstd).Open(coder)) // the decoder has its own buffers now
			batch := must(ParseBatch(bomb))
			var err error
			allocated := allocatedBy(func() { _, err = batch.Open(coder) })
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, want %v", err, ErrCorrupt)
			}
			if limit := uint64(1<<20 + 1<<19); allocated > limit { // the raw length, and the decoder's buffers for blocks of 128 KiB
				t.Errorf("%d bytes were allocated, limit %d", allocated, limit)
			}
		})
	}
}

func withoutLength(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := must(zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1)))
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// reheader changes the header of a batch and renews its CRCs.
func reheader(b *Batch, change func(header []byte)) []byte {
	c := slices.Clone(b.Bytes())
	n := len(c) - int(b.Header.BodyLength)
	change(c[:n])
	putCRCs(c[:n], c[n:])
	return c
}

func TestParseBatchRefusesHeadersThatSayTheImpossible(t *testing.T) {
	b := mustSeal(t, sampleHeader(), sampleEntries(), CodecNone)
	put32 := func(at int, v uint32) func([]byte) {
		return func(h []byte) { binary.LittleEndian.PutUint32(h[at:], v) }
	}
	cases := []struct {
		name   string
		change func([]byte)
		want   error
	}{
		{"magic", func(h []byte) { h[3] = '2' }, ErrCorrupt},
		{"version 2", func(h []byte) { h[4] = 2 }, ErrVersion},
		{"a flag of a later version", func(h []byte) { h[6] |= 1 << 4 }, ErrUnknownCritical},
		{"zero bytes that are not", func(h []byte) { h[10] = 1 }, ErrCorrupt},
		{"no entry", put32(12, 0), ErrCorrupt},
		{"4097 entries", put32(12, MaxEntries+1), ErrCorrupt},
		{"offset 0", func(h []byte) { binary.LittleEndian.PutUint64(h[24:], 0) }, ErrCorrupt},
		{"offsets that overflow", func(h []byte) { binary.LittleEndian.PutUint64(h[24:], 1<<64-2) }, ErrCorrupt},
		{"sealed after the year 9999", func(h []byte) { binary.LittleEndian.PutUint64(h[40:], maxMillis+1) }, ErrCorrupt},
		{"raw length over 16 MiB", put32(48, MaxRawBatch+1), ErrCorrupt},
		{"raw length under 9 bytes an entry", put32(48, 4*minEntry-1), ErrCorrupt},
		{"raw length that is not the body's, not compressed", put32(48, b.Header.RawLength+1), ErrCorrupt},
		{"body length over what is there", put32(52, b.Header.BodyLength+1), ErrCorrupt},
		{"header length under the least", func(h []byte) { binary.LittleEndian.PutUint16(h[8:], minHeader-1) }, ErrCorrupt},
		{"header length over 4096", func(h []byte) { binary.LittleEndian.PutUint16(h[8:], MaxBatchHeader+1) }, ErrCorrupt},
		{"a capital in a name", func(h []byte) { h[headerFixed+1] = 'A' }, ErrCorrupt},
		{"a lane kind of a later version", func(h []byte) { h[headerFixed+4+7+2] = 3 }, ErrUnknownCritical},
		{"a destination twice", func(h []byte) { h[headerFixed+4+7+3+1+5+4] = 0 }, ErrCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := ParseBatch(reheader(b, c.change)); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestABatchOfAnUnknownCodecIsPassedOnAndNotOpened(t *testing.T) {
	b := mustSeal(t, sampleHeader(), sampleEntries(), CodecNone)
	parsed, err := ParseBatch(reheader(b, func(h []byte) { h[5] = 9 }))
	if err != nil {
		t.Fatalf("a relay cannot pass it on: %v", err)
	}
	if _, err := parsed.Open(mustCoder(t)); !errors.Is(err, ErrCodec) {
		t.Errorf("error %v, want %v", err, ErrCodec)
	}
}

func TestOpenRefusesFlagsThatTheEntriesDoNotBear(t *testing.T) {
	h := sampleHeader()
	raw := must(AppendEntry(nil, &sampleEntries()[0]))
	h.Count, h.Flags, h.RawLength, h.BodyLength = 1, BatchTombstones, uint32(len(raw)), uint32(len(raw))
	b := must(assemble(h, raw, raw))
	if _, err := b.Open(mustCoder(t)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v, want %v", err, ErrCorrupt)
	}
}

func TestOpenRefusesEntriesThatAreNotWhatTheHeaderCounts(t *testing.T) {
	one := must(AppendEntry(nil, &sampleEntries()[0]))
	for name, raw := range map[string][]byte{"one too many": append(slices.Clone(one), one...), "cut short": one[:len(one)-1]} {
		t.Run(name, func(t *testing.T) {
			batch := must(ParseBatch(forge(t, CodecNone, 1, uint32(len(raw)), raw, raw)))
			if _, err := batch.Open(mustCoder(t)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("error %v, want %v", err, ErrCorrupt)
			}
		})
	}
}

func TestErrorsNameTheBatch(t *testing.T) {
	b := must(ParseBatch(forge(t, CodecNone, 1, 9, make([]byte, 9), make([]byte, 9))))
	_, err := b.Open(mustCoder(t))
	if err == nil || !strings.Contains(err.Error(), "ams/orders#2@1764534000000:120") {
		t.Errorf("error %v does not name the batch", err)
	}
}
