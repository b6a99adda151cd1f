package federation

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func entryOf(bodySize int) Entry {
	return Entry{TTL: NoTTL, Message: Message{Body: make([]byte, bodySize)}}
}

func TestSealRefusesWhatIsOverALimit(t *testing.T) {
	many := make([]Destination, MaxDestinations+1)
	for i := range many {
		many[i] = Destination{Site: "nyc", Target: uint8(i)}
	}
	with := func(change func(*Header)) Header {
		h := sampleHeader()
		change(&h)
		return h
	}
	cases := []struct {
		name    string
		header  Header
		entries []Entry
	}{
		{"no entry", sampleHeader(), nil},
		{"4097 entries", sampleHeader(), make([]Entry, MaxEntries+1)},
		{"16 MiB and a byte", sampleHeader(), []Entry{entryOf(MaxRawBatch - 14)}},
		{"16 MiB and a byte in two entries", sampleHeader(), []Entry{entryOf(MaxRawBatch / 2), entryOf(MaxRawBatch / 2)}},
		{"49 destinations", with(func(h *Header) { h.Destinations = many }), []Entry{entryOf(1)}},
		{"a header over 4096", with(func(h *Header) { h.Extensions = []TLV{{Tag: 2, Value: make([]byte, MaxBatchHeader)}} }), []Entry{entryOf(1)}},
		{"a path of 33", sampleHeader(), []Entry{{Path: slices.Repeat([]SiteID{"a"}, MaxPath+1)}}},
		{"an exchange of 256 bytes", sampleHeader(), []Entry{{Message: Message{Exchange: strings.Repeat("x", 256)}}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Seal(c.header, c.entries, CodecZstd, mustCoder(t)); !errors.Is(err, ErrTooLarge) {
				t.Errorf("error %v, want %v", err, ErrTooLarge)
			}
		})
	}
}

func TestTheLargestBatchesCanBeSealedAndOpened(t *testing.T) {
	widest := sampleHeader()
	widest.Lane = Lane{Origin: SiteID(strings.Repeat("o", MaxName)), Route: RouteID("to." + strings.Repeat("s", MaxName)), Kind: KindAddressed}
	widest.Destinations = nil
	for i := range MaxDestinations {
		widest.Destinations = append(widest.Destinations, Destination{Site: SiteID(fmt.Sprintf("%s%02d", strings.Repeat("d", MaxName-2), i)), Target: 255})
	}
	small := make([]Entry, MaxEntries)
	for i := range small {
		small[i] = Entry{TTL: NoTTL}
	}
	for name, c := range map[string]struct {
		h       Header
		entries []Entry
	}{
		"48 destinations with names of 63": {widest, []Entry{entryOf(1)}},
		"4096 entries":                     {sampleHeader(), small},
		"16 MiB in one entry":              {sampleHeader(), []Entry{entryOf(MaxRawBatch - 15)}},
	} {
		for codec, preferred := range codecs {
			t.Run(name+", "+codec, func(t *testing.T) {
				coder := mustCoder(t)
				sealed := must(Seal(c.h, c.entries, preferred, coder))
				entries := must(must(ParseBatch(sealed.Bytes())).Open(coder))
				if len(entries) != len(c.entries) || cap(coder.raw) > maxKept || cap(coder.body) > maxKept {
					t.Errorf("%d entries, want %d; the coder keeps %d and %d bytes", len(entries), len(c.entries), cap(coder.raw), cap(coder.body))
				}
			})
		}
	}
}

func TestSealFallsBackToNoneForWhatDoesNotShrink(t *testing.T) {
	for name, codec := range codecs {
		b := mustSeal(t, sampleHeader(), sampleEntries()[:1], codec)
		if b.Header.Codec != CodecNone {
			t.Errorf("%s: codec %d for 40 bytes, want none", name, b.Header.Codec)
		}
	}
}

func TestSealRefusesWhatNoDecoderTakes(t *testing.T) {
	bad := map[string]Header{"site": sampleHeader(), "route": sampleHeader(), "offset 0": sampleHeader(), "destination twice": sampleHeader(), "offsets that overflow": sampleHeader()}
	for name, h := range bad {
		switch name {
		case "site":
			h.Lane.Origin = "Ams"
		case "route":
			h.Lane.Route = ""
		case "offset 0":
			h.First = 0
		case "destination twice":
			h.Destinations = []Destination{sampleDest, sampleDest}
		case "offsets that overflow":
			h.First = ^Offset(0) - 1
		}
		if b, err := Seal(h, sampleEntries(), CodecNone, mustCoder(t)); err == nil {
			_, err = ParseBatch(b.Bytes())
			t.Errorf("%s: sealed, and parsed with error %v", name, err)
		}
	}
	for name, e := range map[string]Entry{
		"kind": {Kind: 3}, "flags": {Flags: 1 << 5}, "fragment without its place": {Kind: EntryFragment}, "a place without a fragment": {Fragment: &Fragment{First: 1, Total: 1}},
		"fragment 4 of 4": {Kind: EntryFragment, Fragment: &Fragment{First: 1, Index: 4, Total: 4}}, "path": {Path: []SiteID{"_"}},
		"a reserved extension": {Excluded: 1, Extensions: []TLV{{Tag: tagExcluded, Value: make([]byte, 8)}}},
	} {
		if _, err := Seal(sampleHeader(), []Entry{e}, CodecNone, mustCoder(t)); err == nil {
			t.Errorf("entry with a bad %s was sealed", name)
		}
	}
}

func TestFrameHeadersOverTheLimitOfTheirTypeAreRefused(t *testing.T) {
	for kind := range 256 {
		limit := maxPayload(FrameType(kind))
		flags := byte(0)
		if FrameType(kind).known() {
			flags = frameCritical
		}
		for length, want := range map[uint32]error{limit: nil, limit + 1: ErrCorrupt, 1<<32 - 1: ErrCorrupt} {
			w := writer{}
			w.u32(length)
			w.bytes([]byte{byte(kind), flags, 0, 0})
			if _, err := ParseFrameHeader(w.b); !errors.Is(err, want) {
				t.Errorf("type %d of %d bytes: error %v, want %v", kind, length, err, want)
			}
		}
	}
}

func TestTheLargestFramesFitTheirLimits(t *testing.T) {
	name := SiteID(strings.Repeat("s", MaxName))
	lane := Lane{Origin: name, Route: RouteID("to." + name)}
	text := strings.Repeat("x", 300)
	var destinations []Destination
	for i := range MaxDestinations {
		destinations = append(destinations, Destination{Site: name, Target: uint8(i)})
	}
	members := make([]Membership, MaxMembers)
	for i := range members {
		members[i] = Membership{Destination: destinations[0], Join: 1, Leave: 2}
	}
	voids := slices.Repeat([]Void{{Span: Span{1, 2}, Destinations: destinations, Reason: text, Who: text, At: sampleTime}}, MaxVoids)
	ranges, exceptions := make([]NumberRange, MaxAckItems), make([]Exception, MaxAckItems)
	for i := range MaxAckItems {
		ranges[i] = NumberRange{uint64(10 + 2*i), uint64(10 + 2*i)}
		exceptions[i] = Exception{Number: uint64(1 + i), Verdict: Full}
	}
	receipt := Receipt{Lane: lane, Destination: destinations[0], Join: 1, Signature: make([]byte, MaxSignature)}
	for _, f := range []Frame{
		LaneOpen{Lane: lane, Mark: LaneMark{Members: members}},
		Sync{Lane: lane, Destination: destinations[0], HasReceipt: true, Receipt: receipt, Voids: voids, Text: text},
		Ack{Ranges: ranges, Exceptions: exceptions},
		Copy{Number: 1, Sidecar: Sidecar{Path: slices.Repeat([]SiteID{name}, MaxPath)}, Batch: make([]byte, MaxBatchHeader+MaxEncodedBatch)},
	} {
		if _, err := decodeFrame(must(AppendFrame(nil, f))); err != nil {
			t.Errorf("%T: %v", f, err)
		}
	}
}

func TestAppendFrameRefusesWhatIsOverALimit(t *testing.T) {
	for name, f := range map[string]Frame{
		"copy over the limit": Copy{Number: 1, Batch: make([]byte, MaxCopyFrame)},
		"sidecar":             Copy{Number: 1, Sidecar: Sidecar{Extensions: []TLV{{Tag: 4, Value: make([]byte, MaxSidecar)}}}},
		"members":             LaneOpen{Lane: sampleLane, Mark: LaneMark{Members: make([]Membership, MaxMembers+1)}},
		"ranges":              Ack{Ranges: make([]NumberRange, MaxAckItems+1)},
		"extensions":          Drain{Extensions: []TLV{{Tag: 4, Value: make([]byte, MaxControlFrame)}}},
		"a copy number of 0":  Copy{},
		"link lost":           HelloAck{Hello: sampleHello(), Verdict: LinkLost},
		"wire versions":       Hello{MinVersion: 2, MaxVersion: 1, Site: "ams"},
	} {
		prefix := []byte("kept")
		if b, err := AppendFrame(prefix, f); err == nil || !bytes.Equal(b, prefix) {
			t.Errorf("%s: error %v, result %q, want an error and what was there", name, err, b[:min(len(b), 8)])
		}
	}
}

func TestHeartbeatsAreLargeEnoughToDrawAStatelessReset(t *testing.T) {
	if n := len(must(AppendFrame(nil, Heartbeat{}))); n < 64 {
		t.Errorf("%d bytes, want at least 64", n)
	}
}

func TestUnknownExtensionsAreKeptOrRefused(t *testing.T) {
	for name, g := range goldens(t) {
		if !strings.HasPrefix(name, "frame-") || name == "frame-copy" {
			continue
		}
		payload := g.bytes[FrameHeaderSize:]
		for _, c := range []struct {
			tag  []byte
			want error
		}{{[]byte{0xAE, 0x02}, nil}, {[]byte{0xAF, 0x02}, ErrUnknownCritical}, {[]byte{0xAE, 0x82, 0x00}, ErrCorrupt}, {[]byte{100}, ErrCorrupt}} {
			longer := append(append(slices.Clone(payload), c.tag...), 1, 'x')
			h := must(ParseFrameHeader(g.bytes))
			h.Length = uint32(len(longer))
			f, err := ParseFrame(h, longer)
			if !errors.Is(err, c.want) {
				t.Errorf("%s with extension % x: error %v, want %v", name, c.tag, err, c.want)
			}
			if c.want == nil && !bytes.Equal(must(AppendFrame(nil, f))[FrameHeaderSize:], longer) {
				t.Errorf("%s with extension % x is not written again as it was", name, c.tag)
			}
		}
	}
}

// Nothing of version 1 names a lane by a short id: a later version that does must not be half understood.
func TestAShortIDIsRefused(t *testing.T) {
	for _, name := range []string{"frame-laneopen", "frame-lanestate"} {
		b := slices.Clone(goldens(t)[name].bytes)
		b[FrameHeaderSize] = 4
		if _, err := decodeFrame(b); !errors.Is(err, ErrUnknownCritical) {
			t.Errorf("%s: error %v, want %v", name, err, ErrUnknownCritical)
		}
	}
}

func TestABatchWithALaterCriticalExtensionIsRefusedAndOneWithAnotherIsKept(t *testing.T) {
	h := sampleHeader()
	h.Extensions = []TLV{{Tag: TagDictionary, Value: []byte("d")}}
	if _, err := ParseBatch(mustSeal(t, h, sampleEntries(), CodecNone).Bytes()); !errors.Is(err, ErrUnknownCritical) {
		t.Errorf("error %v, want %v", err, ErrUnknownCritical)
	}
	h.Extensions = []TLV{{Tag: 400, Value: []byte("later")}, {Tag: TagSignature, Value: []byte("s")}}
	parsed := must(ParseBatch(mustSeal(t, h, sampleEntries(), CodecNone).Bytes()))
	want := []TLV{{Tag: TagSignature, Value: []byte("s")}, {Tag: 400, Value: []byte("later")}}
	if diff := cmp.Diff(want, parsed.Header.Extensions); diff != "" {
		t.Errorf("extensions (-want +got):\n%s", diff)
	}
}

// A signature signs the digest: it can be added to a batch, as long as its length is known when the batch is sealed.
func TestTheDigestDoesNotCoverExtensions(t *testing.T) {
	h := sampleHeader()
	h.Extensions = []TLV{{Tag: TagSignature, Value: make([]byte, 64)}}
	unsigned := mustSeal(t, h, sampleEntries(), CodecNone)
	signed := must(ParseBatch(reheader(unsigned, func(header []byte) { copy(header[len(header)-64:], bytes.Repeat([]byte{7}, 64)) })))
	entries, err := signed.Open(mustCoder(t))
	if err != nil || signed.Header.Digest != unsigned.Header.Digest {
		t.Fatalf("error %v, digest %x, unsigned %x", err, signed.Header.Digest, unsigned.Header.Digest)
	}
	if diff := cmp.Diff(sampleEntries(), entries, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTextsForPeopleAreCutAtTheEndOfACharacter(t *testing.T) {
	got := must(decodeFrame(must(AppendFrame(nil, Drain{Reason: strings.Repeat("x", 254) + "é and more"})))).(Drain)
	if want := strings.Repeat("x", 254); got.Reason != want {
		t.Errorf("reason of %d bytes ends in %q, want %d bytes", len(got.Reason), got.Reason[len(got.Reason)-2:], len(want))
	}
}

// What a peer says ends in status and logs: nothing of it may move a cursor there.
func TestTextsForPeopleMoveNoCursor(t *testing.T) {
	const bad = "a\x1b[2Jb\r\nc\u202ed\u0085e\xffé"
	const want = "a\ufffd[2Jb\ufffd\ufffdc\ufffdd\ufffde\ufffdé"
	sent := must(AppendFrame(nil, Drain{Reason: bad}))
	if got := must(decodeFrame(sent)).(Drain).Reason; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
	for name, b := range map[string][]byte{
		"drain":   append([]byte{byte(len(bad))}, bad...),
		"newline": {1, '\n'},
	} {
		h := FrameHeader{Length: uint32(len(b)), Type: TypeDrain, Critical: true}
		if f, err := ParseFrame(h, b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %+v, error %v, want %v", name, f, err, ErrCorrupt)
		}
	}
	hello := must(decodeFrame(must(AppendFrame(nil, Hello{Site: "ams", Router: bad})))).(Hello)
	if hello.Router != want {
		t.Errorf("router %q, want %q", hello.Router, want)
	}
}

func TestEncodeOfAMarkThatCannotBeIsABug(t *testing.T) {
	for name, encode := range map[string]func() []byte{
		"journal that does not balance": func() []byte { return Journal{Join: 1, Done: 1}.Encode() },
		"receipt without a lane":        func() []byte { return Receipt{}.Encode() },
		"void of nothing":               func() []byte { return VoidMark{Voids: make([]Void, 1)}.Encode() },
		"key with a part too many":      func() []byte { return AppendMarkKey(nil, MarkKey{Kind: MarkOwner, Generation: 1}) },
		"key without its lane":          func() []byte { return AppendMarkKey(nil, MarkKey{Kind: MarkLane}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			encode()
		})
	}
}
