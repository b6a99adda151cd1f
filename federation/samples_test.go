package federation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Samples: one full value of every format. Golden files, fuzz seeds and round trips use them.

var (
	sampleLane   = Lane{Origin: "ams", Route: "orders", Shard: 2, Kind: KindRoute}
	sampleDest   = Destination{Site: "nyc", Target: 1}
	sampleTime   = time.UnixMilli(1764534000123).UTC()
	sampleStore  = StoreID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	sampleBoot   = BootID{16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	sampleDigest = [32]byte{0: 0xAA, 31: 0x55}
	sampleTLVs   = []TLV{{Tag: 100, Value: []byte("kept")}, {Tag: 300, Value: nil}}
)

func sampleEntries() []Entry {
	return []Entry{
		{TTL: NoTTL, Message: Message{Exchange: "events", RoutingKey: "order.created", Properties: []byte{0x80, 0, 4, 't', 'e', 'x', 't'}, Body: []byte(`{"id":1}`)}},
		{Flags: EntryDuplicate | EntryTransient, Age: 17 * time.Millisecond, TTL: 0, Message: Message{Exchange: "events", RoutingKey: "order.paid", Properties: []byte{0, 0}, Body: []byte{}},
			Path: []SiteID{"fra", "sin"}, Excluded: 0b10, Extensions: []TLV{{Tag: 4, Value: []byte("trace")}}},
		{Kind: EntryFragment, Flags: EntryLastFragment, TTL: 90 * time.Second, Message: Message{Properties: []byte{0, 0}, Body: []byte("tail")},
			Fragment: &Fragment{First: 119, Index: 3, Total: 4, Digest: sampleDigest}},
		{Kind: EntryTombstone, Flags: EntryRedriven, Age: 72 * time.Hour, TTL: NoTTL, Message: Message{Properties: []byte{}, Body: []byte{}}, Reason: "loop"},
	}
}

func sampleHeader() Header {
	return Header{
		Generation: 1764534000000, First: 120, SealEpoch: 1764534000001, SealedAt: sampleTime, Lane: sampleLane,
		Destinations: []Destination{{Site: "nyc"}, sampleDest}, Extensions: []TLV{{Tag: TagTrace, Value: []byte("00-abc")}},
	}
}

func sampleSidecar() Sidecar {
	return Sidecar{Repair: true, Hops: 2, Try: 3, Age: 1500 * time.Millisecond, Bitmap: 0b11, Path: []SiteID{"ams", "fra"}, StoredAt: sampleTime, Extensions: sampleTLVs}
}

func sampleCounters() Counters {
	return Counters{Delivered: 10, Parked: 2, Expired: 3, Excluded: 4, Voided: 1, Flagged: 5, Uncertain: 1}
}

func sampleJournal() Journal {
	return Journal{Join: 101, Done: 120, Reserved: 250, Counters: sampleCounters(), OriginStore: sampleStore,
		Seals: []SealPoint{{7, 101}, {9, 111}, {10, 119}, {12, 121}}, Extensions: sampleTLVs}
}

func sampleReceipt() Receipt {
	return Receipt{Lane: sampleLane, Generation: 1764534000000, Destination: sampleDest, Store: sampleStore, Born: sampleTime, Epoch: 77,
		Join: 101, Done: 120, Counters: sampleCounters(), Signature: []byte("signed"), Extensions: sampleTLVs}
}

func sampleLaneMark() LaneMark {
	return LaneMark{Generation: 9, Previous: 8, PreviousEnd: 500, Shards: 4, Members: []Membership{{sampleDest, 1, 40}, {Destination{Site: "sin"}, 41, 0}},
		RouteDigest: sampleDigest, Extensions: sampleTLVs}
}

func sampleVoids() []Void {
	return []Void{{Span: Span{5, 9}, Destinations: []Destination{sampleDest}, Reason: "corrupt", Who: "ada", At: sampleTime}, {Span: Span{20, 20}, Reason: "detach", Who: "ben", At: sampleTime}}
}

func sampleHello() Hello {
	return Hello{MinVersion: 1, MaxVersion: 2, Federation: "acme", Site: "ams", Router: "ams-1", Store: sampleStore, Born: sampleTime, Epoch: 5, LastLSN: 6, Boot: sampleBoot,
		TopologyVersion: 12, TopologyDigest: sampleDigest, Now: sampleTime, MaxBatch: 1 << 24, Codecs: 7, LinkID: 99, Connection: 1, Capabilities: 3, Extensions: sampleTLVs}
}

// sampleFrames are by name, one of each type.
func sampleFrames(batch []byte) map[string]Frame {
	return map[string]Frame{
		"hello":    sampleHello(),
		"helloack": HelloAck{Hello: sampleHello(), Verdict: Fenced, Text: "store rewound: run cloudqueue spool reseal", Extensions: sampleTLVs},
		"laneopen": LaneOpen{Short: 4, Lane: sampleLane, Mark: sampleLaneMark(), FirstRetained: 17, LastAssigned: 300, Extensions: sampleTLVs},
		"lanestate": LaneState{Short: 4, Lane: sampleLane, KnownGeneration: 9, Destinations: []DestState{{sampleDest, 121, 1 << 20, sampleStore, sampleTime}},
			Verdict: TopologyOld, Text: "version 11 here", Extensions: sampleTLVs},
		"copy":      Copy{Number: 42, Sidecar: sampleSidecar(), Batch: batch},
		"ack":       Ack{Stream: 8, Cumulative: 40, Ranges: []NumberRange{{42, 44}, {46, 46}}, Exceptions: []Exception{{39, WindowShut, 200 * time.Millisecond}, {45, DupOK, 0}}, Extensions: sampleTLVs},
		"window":    Window{Lane: sampleLane, Generation: 9, Destination: sampleDest, Next: 121, Bytes: 4 << 20, Extensions: sampleTLVs},
		"receipt":   sampleReceipt(),
		"syncreq":   SyncReq{Nonce: 5, Lane: sampleLane, Generation: 9, Destination: sampleDest, Store: sampleStore, Born: sampleTime, ToOrigin: true, Extensions: sampleTLVs},
		"sync":      Sync{Nonce: 5, Lane: sampleLane, Generation: 9, Destination: sampleDest, Join: 101, FirstRetained: 90, LastAssigned: 300, FirstStore: true, HasReceipt: true, Receipt: sampleReceipt(), Voids: sampleVoids(), OriginStore: sampleStore, Verdict: OK, Text: "", Extensions: sampleTLVs},
		"heartbeat": Heartbeat{Sent: sampleTime, Echo: sampleTime.Add(time.Second), Backlog: 1 << 30, Extensions: sampleTLVs},
		"drain":     Drain{Reason: "stopping", Extensions: sampleTLVs},
		"draindone": DrainDone{Extensions: sampleTLVs},
		"close":     Close{Code: 3, Text: "topology: link removed", Extensions: sampleTLVs},
	}
}

func mustCoder(t testing.TB) *Coder {
	t.Helper()
	c, err := NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustSeal(t testing.TB, h Header, entries []Entry, codec Codec) *Batch {
	t.Helper()
	b, err := Seal(h, entries, codec, mustCoder(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// events are JSON events of about 1 KiB whose fields repeat as real ones do.
func events(n int) []Entry {
	r := rand.New(rand.NewPCG(1, 2))
	entries := make([]Entry, n)
	for i := range entries {
		body := fmt.Appendf(nil, `{"id":"%016x%016x","type":"order.created","time":"2026-11-30T19:%02d:%02d.%03dZ","source":"checkout-%d","customer":{"id":%d,"country":"%s","tier":"gold"},"items":[`,
			r.Uint64(), r.Uint64(), r.IntN(60), r.IntN(60), r.IntN(1000), r.IntN(16), r.IntN(1e7), []string{"NL", "US", "SG", "DE"}[r.IntN(4)])
		for j := 0; len(body) < 960; j++ {
			if j > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"sku":"%08X","quantity":%d,"price":%d.%02d,"currency":"EUR","warehouse":"w%02d"}`, r.Uint32(), 1+r.IntN(5), r.IntN(500), r.IntN(100), r.IntN(40))
		}
		body = fmt.Appendf(body, `],"total":%d.%02d}`, r.IntN(2000), r.IntN(100))
		entries[i] = Entry{Age: time.Duration(r.IntN(20)) * time.Millisecond, TTL: NoTTL, Message: Message{
			Exchange: "events", RoutingKey: []string{"order.created", "order.paid", "order.shipped"}[r.IntN(3)],
			Properties: fmt.Appendf([]byte{0xB8, 0x00, 16}, "application/json\x02%08d", i), Body: body}}
	}
	return entries
}
