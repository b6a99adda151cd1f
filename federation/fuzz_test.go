package federation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Every decoder: no panic, no allocation beyond a small multiple of its input, a known error, and what is accepted is
// encoded to the same bytes again. Seeds are the golden values and their neighbours.

// maxBlowup is what a decoder may allocate per byte of input: an entry of 9 bytes becomes a struct of about 200.
const maxBlowup = 64

func checkAllocation(t *testing.T, input []byte, decode func()) {
	t.Helper()
	if got, limit := allocatedBy(decode), uint64(len(input)*maxBlowup+64<<10); got > limit {
		t.Fatalf("%d bytes allocated for %d bytes of input, limit %d", got, len(input), limit)
	}
}

func checkError(t *testing.T, err error) {
	t.Helper()
	for _, known := range []error{ErrCorrupt, ErrUnknownCritical, ErrVersion, ErrIncomplete, ErrCodec} {
		if errors.Is(err, known) {
			return
		}
	}
	t.Fatalf("error %v wraps none of the package", err)
}

func checkSame(t *testing.T, input, again []byte) {
	t.Helper()
	if !bytes.Equal(input, again) {
		t.Fatalf("accepted\n%x\nencodes to\n%x", input, again)
	}
}

func FuzzParseBatch(f *testing.F) {
	for _, codec := range codecs {
		f.Add(mustSeal(f, sampleHeader(), sampleEntries(), codec).Bytes(), false)
		f.Add(mustSeal(f, Header{First: 1, Lane: Lane{Origin: "a", Route: "b"}}, sampleEntries()[:1], codec).Bytes(), true)
	}
	f.Fuzz(func(t *testing.T, input []byte, mendCRC bool) {
		if mendCRC {
			input = withCRCs(input)
		}
		var batch *Batch
		var err error
		checkAllocation(t, input, func() { batch, err = ParseBatch(input) })
		if err != nil {
			checkError(t, err)
			return
		}
		header, tlvStart, err := appendHeader(nil, &batch.Header)
		if err != nil {
			t.Fatal(err)
		}
		if tlvStart != batch.tlvStart {
			t.Fatalf("extensions begin at %d, parsed as %d", tlvStart, batch.tlvStart)
		}
		body := batch.bytes[len(header):]
		putCRCs(header, body)
		checkSame(t, input, append(header, body...))
	})
}

// withCRCs mends both CRCs, so that the fuzzer gets behind them.
func withCRCs(input []byte) []byte {
	if len(input) < headerFixed {
		return input
	}
	b := slices.Clone(input)
	n := min(max(int(binary.LittleEndian.Uint16(b[8:])), headerFixed), len(b))
	putCRCs(b[:n], b[n:])
	return b
}

// FuzzOpen gives a destination a body of the sender's choice, under CRCs and a digest that fit.
func FuzzOpen(f *testing.F) {
	for _, codec := range codecs {
		b := mustSeal(f, sampleHeader(), append(sampleEntries(), events(2)...), codec)
		f.Add(uint8(b.Header.Codec), uint16(b.Header.Flags), b.Header.Count, b.Header.RawLength, b.bytes[len(b.bytes)-int(b.Header.BodyLength):])
	}
	coder := mustCoder(f)
	f.Fuzz(func(t *testing.T, codec uint8, flags uint16, count, rawLength uint32, body []byte) {
		h := sampleHeader()
		h.Codec, h.Flags, h.Count, h.RawLength, h.BodyLength = Codec(codec), BatchFlags(flags), count, rawLength%(1<<20), uint32(len(body))
		raw, err := coder.decompress(body, h.Codec, int(h.RawLength))
		if err != nil {
			checkError(t, err)
			return
		}
		b, err := assemble(h, raw, body)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseBatch(b.Bytes())
		if err != nil {
			checkError(t, err)
			return
		}
		var entries []Entry
		checkAllocation(t, raw, func() { entries, err = parsed.Open(coder) })
		if err != nil {
			checkError(t, err)
			return
		}
		again, _, err := mustCoder(t).appendEntries(entries)
		if err != nil {
			t.Fatal(err)
		}
		checkSame(t, raw, again)
	})
}

func FuzzDecompress(f *testing.F) {
	for _, codec := range codecs {
		b := mustSeal(f, sampleHeader(), events(2), codec)
		f.Add(uint8(codec), b.Header.RawLength, b.bytes[len(b.bytes)-int(b.Header.BodyLength):])
	}
	coder := mustCoder(f)
	f.Fuzz(func(t *testing.T, codec uint8, rawLength uint32, body []byte) {
		rawLength %= 1 << 20
		if Codec(codec) == CodecNone && int(rawLength) != len(body) {
			return // ParseBatch refuses it
		}
		var raw []byte
		var err error
		allocated := allocatedBy(func() { raw, err = coder.decompress(body, Codec(codec), int(rawLength)) })
		if limit := uint64(rawLength) + 1<<20; allocated > limit {
			t.Fatalf("%d bytes allocated for a raw length of %d", allocated, rawLength)
		}
		if err != nil {
			checkError(t, err)
		} else if len(raw) != int(rawLength) {
			t.Fatalf("%d bytes, want %d", len(raw), rawLength)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	for _, e := range sampleEntries() {
		f.Add(must(AppendEntry(nil, &e)))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var e Entry
		var rest []byte
		var err error
		checkAllocation(t, input, func() { e, rest, err = ParseEntry(input) })
		if err != nil {
			checkError(t, err)
			return
		}
		again := must(AppendEntry(nil, &e))
		checkSame(t, input[:len(input)-len(rest)], again)
		if e.EncodedSize() != len(again) {
			t.Fatalf("encoded size %d, it takes %d", e.EncodedSize(), len(again))
		}
	})
}

func FuzzParseSidecar(f *testing.F) {
	f.Add(sidecarBytes(sampleSidecar()))
	f.Add(sidecarBytes(Sidecar{}))
	f.Fuzz(func(t *testing.T, input []byte) {
		var s Sidecar
		var err error
		checkAllocation(t, input, func() { s, err = ParseSidecar(input) })
		if err != nil {
			checkError(t, err)
			return
		}
		checkSame(t, input, sidecarBytes(s))
	})
}

func FuzzParseFrame(f *testing.F) {
	for _, frame := range sampleFrames([]byte("batch")) {
		f.Add(must(AppendFrame(nil, frame)))
	}
	f.Add([]byte{4, 0, 0, 0, 200, 0, 0, 0, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, input []byte) {
		h, err := ParseFrameHeader(input)
		if err != nil {
			checkError(t, err)
			return
		}
		payload := input[FrameHeaderSize:]
		var frame Frame
		checkAllocation(t, input, func() { frame, err = ParseFrame(h, payload) })
		if err != nil {
			checkError(t, err)
			return
		}
		if frame == nil {
			if h.Critical || h.Type.known() {
				t.Fatalf("%+v was skipped", h)
			}
			return
		}
		checkSame(t, input, must(AppendFrame(nil, frame)))
	})
}

func FuzzParsePreamble(f *testing.F) {
	f.Add(AppendPreamble(nil, StreamPreamble{StreamControl, 0}))
	f.Add(AppendPreamble(nil, StreamPreamble{StreamData, 2}))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, err := ParsePreamble(input)
		if err != nil {
			checkError(t, err)
			return
		}
		checkSame(t, input[:PreambleSize], AppendPreamble(nil, p))
	})
}

func FuzzParseMarkKey(f *testing.F) {
	for _, k := range sampleKeys() {
		f.Add(AppendMarkKey(nil, k))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		k, rest, err := ParseMarkKey(input)
		if err != nil {
			checkError(t, err)
			return
		}
		checkSame(t, input[:len(input)-len(rest)], AppendMarkKey(nil, k))
	})
}

// markValues are the decoders of all marks; each gives its value's encoding again.
var markValues = map[MarkKind]func([]byte) ([]byte, error){
	MarkJournal:  reencode(ParseJournal),
	MarkReceipt:  reencode(ParseReceipt),
	MarkLane:     reencode(ParseLaneMark),
	MarkLaneHigh: reencode(ParseLaneHigh),
	MarkPeer:     reencode(ParsePeerMark),
	MarkDest:     reencode(ParseDestMark),
	MarkVoid:     reencode(ParseVoidMark),
	MarkOwner:    reencode(ParseOwnerMark),
	MarkOpenings: reencode(ParseOpeningsMark),
}

func reencode[T interface{ Encode() []byte }](parse func([]byte) (T, error)) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		v, err := parse(b)
		if err != nil {
			return nil, err
		}
		return v.Encode(), nil
	}
}

func FuzzMarkValues(f *testing.F) {
	f.Add(uint8(MarkJournal), sampleJournal().Encode())
	f.Add(uint8(MarkReceipt), sampleReceipt().Encode())
	f.Add(uint8(MarkLane), sampleLaneMark().Encode())
	f.Add(uint8(MarkLaneHigh), LaneHigh{LastAssigned: 9}.Encode())
	f.Add(uint8(MarkPeer), PeerMark{Store: sampleStore, Born: sampleTime}.Encode())
	f.Add(uint8(MarkDest), DestMark{First: sampleStore, NewestBorn: sampleTime}.Encode())
	f.Add(uint8(MarkVoid), VoidMark{Voids: sampleVoids()}.Encode())
	f.Add(uint8(MarkOwner), OwnerMark{Highest: 2}.Encode())
	f.Add(uint8(MarkOpenings), OpeningsMark{Openings: sampleOpenings}.Encode())
	f.Fuzz(func(t *testing.T, kind uint8, input []byte) {
		decode, ok := markValues[MarkKind(kind)]
		if !ok {
			return
		}
		var again []byte
		var err error
		checkAllocation(t, input, func() { again, err = decode(input) })
		if err != nil {
			checkError(t, err)
			return
		}
		checkSame(t, input, again)
	})
}

func FuzzParseLane(f *testing.F) {
	f.Add(sampleLane.String())
	f.Add("ams/to.nyc#0~1")
	f.Fuzz(func(t *testing.T, input string) {
		l, err := ParseLane(input)
		if err != nil {
			return
		}
		again, err := ParseLane(l.String())
		if diff := cmp.Diff(l, again, cmpopts.EquateErrors()); err != nil || diff != "" {
			t.Fatalf("%q gives %+v, whose string gives %+v, error %v", input, l, again, err)
		}
	})
}
