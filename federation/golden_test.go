package federation

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the golden files from what the encoders give")

// goldens are all formats by file name: what the encoder gives, and the decoder that reads it.
func goldens(t testing.TB) map[string]golden {
	none := mustSeal(t, sampleHeader(), sampleEntries(), CodecNone)
	all := map[string]golden{
		"batch-none": {none.Bytes(), none.Header, decodeBatch},
		"entry":      {must(AppendEntry(nil, &sampleEntries()[1])), sampleEntries()[1], decodeEntry},
		"sidecar":    {sidecarBytes(sampleSidecar()), sampleSidecar(), decodeValue(ParseSidecar)},
		"preamble":   {AppendPreamble(nil, StreamPreamble{StreamData, 2}), StreamPreamble{StreamData, 2}, decodeValue(ParsePreamble)},
		"journal":    {sampleJournal().Encode(), sampleJournal(), decodeValue(ParseJournal)},
		"receipt":    {sampleReceipt().Encode(), sampleReceipt(), decodeValue(ParseReceipt)},
		"lane":       {sampleLaneMark().Encode(), sampleLaneMark(), decodeValue(ParseLaneMark)},
	}
	add := func(name string, b []byte, want any, decode func([]byte) (any, error)) {
		all[name] = golden{b, want, decode}
	}
	high := LaneHigh{LastAssigned: 300, IngestDuplicates: 4, Extensions: sampleTLVs}
	add("lanehigh", high.Encode(), high, decodeValue(ParseLaneHigh))
	peer := PeerMark{Store: sampleStore, Born: sampleTime, Epoch: 5, LastLSN: 6, Boot: sampleBoot, Extensions: sampleTLVs}
	add("peer", peer.Encode(), peer, decodeValue(ParsePeerMark))
	dest := DestMark{First: sampleStore, Newest: StoreID(sampleBoot), NewestBorn: sampleTime, Extensions: sampleTLVs}
	add("dest", dest.Encode(), dest, decodeValue(ParseDestMark))
	void := VoidMark{Voids: sampleVoids(), Extensions: sampleTLVs}
	add("void", void.Encode(), void, decodeValue(ParseVoidMark))
	owner := OwnerMark{Highest: 3, Extensions: sampleTLVs}
	add("owner", owner.Encode(), owner, decodeValue(ParseOwnerMark))
	openings := OpeningsMark{Openings: sampleOpenings, Extensions: sampleTLVs}
	add("openings", openings.Encode(), openings, decodeValue(ParseOpeningsMark))
	for name, k := range sampleKeys() {
		add("key-"+name, AppendMarkKey(nil, k), k, decodeKey)
	}
	for name, f := range sampleFrames([]byte("not looked into")) {
		add("frame-"+name, must(AppendFrame(nil, f)), f, decodeFrame)
	}
	return all
}

type golden struct {
	bytes  []byte
	want   any
	decode func([]byte) (any, error)
}

func sampleKeys() map[string]MarkKey {
	return map[string]MarkKey{
		"journal":  {Kind: MarkJournal, Lane: sampleLane, Generation: 9, Dest: sampleDest},
		"high":     {Kind: MarkLaneHigh, Lane: sampleLane, Generation: 9},
		"lane":     {Kind: MarkLane, Lane: sampleLane},
		"peer":     {Kind: MarkPeer, Dest: Destination{Site: "nyc"}},
		"owner":    {Kind: MarkOwner},
		"openings": {Kind: MarkOpenings},
		"later":    {Kind: 77, Generation: 9, Dest: sampleDest},
	}
}

func TestEncodersGiveTheGoldenBytesAndDecodersReadThem(t *testing.T) {
	for name, g := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "golden", name+".hex")
			if *update {
				writeHex(t, path, g.bytes)
			}
			stored := readHex(t, path)
			if diff := cmp.Diff(hex.Dump(stored), hex.Dump(g.bytes)); diff != "" {
				t.Errorf("bytes (-golden +encoder; a change of a shipped format needs a version):\n%s", diff)
			}
			got, err := g.decode(stored)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("value (-want +decoded):\n%s", diff)
			}
		})
	}
}

// Compressed bytes may change with the compressor; that they can be read may not.
func TestOpenReadsGoldenCompressedBatches(t *testing.T) {
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			want := slices.Repeat(sampleEntries(), 8)
			path := filepath.Join("testdata", "golden", "compressed-"+name+".hex")
			if *update {
				writeHex(t, path, mustSeal(t, sampleHeader(), want, codec).Bytes())
			}
			b, err := ParseBatch(readHex(t, path))
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.Open(mustCoder(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("entries (-want +opened):\n%s", diff)
			}
		})
	}
}

func TestTheExampleInTheDocumentationIsTheGoldenBatch(t *testing.T) {
	page := string(must(os.ReadFile("../docs/formats.md")))
	_, example, _ := strings.Cut(page, "### An example")
	example, _, _ = strings.Cut(example, "## Sidecar")
	var b []byte
	for line := range strings.Lines(example) {
		if field, _, ok := strings.Cut(strings.TrimPrefix(line, "    "), "   "); ok && strings.HasPrefix(line, "    ") {
			b = append(b, must(hex.DecodeString(strings.ReplaceAll(field, " ", "")))...)
		}
	}
	golden := readHex(t, filepath.Join("testdata", "golden", "batch-none.hex"))
	if diff := cmp.Diff(hex.Dump(golden[:offDigest]), hex.Dump(b)); diff != "" {
		t.Errorf("docs/formats.md (-golden +page):\n%s", diff)
	}
}

func decodeValue[T any](parse func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return parse(b) }
}

func decodeBatch(b []byte) (any, error) {
	batch, err := ParseBatch(b)
	if err != nil {
		return nil, err
	}
	return batch.Header, nil
}

func decodeEntry(b []byte) (any, error) {
	e, _, err := ParseEntry(b)
	return e, err
}

func decodeKey(b []byte) (any, error) {
	k, _, err := ParseMarkKey(b)
	return k, err
}

func decodeFrame(b []byte) (any, error) {
	h, err := ParseFrameHeader(b)
	if err != nil {
		return nil, err
	}
	return ParseFrame(h, b[FrameHeaderSize:])
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// writeHex writes 32 bytes a line, so that a change shows where it is.
func writeHex(t *testing.T, path string, b []byte) {
	t.Helper()
	var text strings.Builder
	for len(b) > 0 {
		n := min(32, len(b))
		text.WriteString(hex.EncodeToString(b[:n]) + "\n")
		b = b[n:]
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readHex(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
