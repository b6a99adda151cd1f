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
		Join: 101, Done: 120, Seal: 10, Counters: sampleCounters(), Signature: []byte("signed"), Extensions: sampleTLVs}
}

func sampleLaneMark() LaneMark {
	return LaneMark{Generation: 9, Previous: 8, PreviousEnd: 500, Shards: 4, Members: []Membership{{sampleDest, 1, 40}, {Destination{Site: "sin"}, 41, 0}},
		RouteDigest: sampleDigest, Extensions: sampleTLVs}
}

func sampleVoids() []Void {
	return []Void{{Span: Span{5, 9}, Destinations: []Destination{sampleDest}, Reason: "corrupt", Who: "ada", At: sampleTime}, {Span: Span{20, 20}, Reason: "detach", Who: "ben", At: sampleTime}}
}

var sampleOpenings = []Opening{{1, 2}, {3, 2}, {4, 5}}

func sampleHello() Hello {
	return Hello{MinVersion: 1, MaxVersion: 2, Federation: "acme", Site: "ams", Router: "ams-1", Store: sampleStore, Born: sampleTime, Epoch: 5, LastLSN: 6, Openings: sampleOpenings, Boot: sampleBoot,
		TopologyVersion: 12, TopologyDigest: sampleDigest, Now: sampleTime, MaxBatch: 1 << 24, Codecs: 7, LinkID: 99, Connection: 1, Capabilities: 3, Extensions: sampleTLVs}
}

// sampleFrames are by name, one of each type.
func sampleFrames(batch []byte) map[string]Frame {
	return map[string]Frame{
		"hello":    sampleHello(),
		"helloack": HelloAck{Hello: sampleHello(), Verdict: Fenced, Text: "store rewound: run cloudqueue spool reseal", Extensions: sampleTLVs},
		"laneopen": LaneOpen{Lane: sampleLane, Mark: sampleLaneMark(), FirstRetained: 17, LastAssigned: 300, Extensions: sampleTLVs},
		"lanestate": LaneState{Lane: sampleLane, KnownGeneration: 9, Destinations: []DestState{{sampleDest, 121, 10, 1 << 20, sampleStore, sampleTime}},
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

// events are JSON events of about 1 KiB that compress as those of sim/load do: random ids in fields that repeat.
func events(n int) []Entry {
	r := rand.New(rand.NewPCG(1, 2))
	entries := make([]Entry, n)
	for i := range entries {
		body := fmt.Appendf(nil, `{"index":%d,"type":"%s","request":"req-%s","tenant":"%s","trace":"%s","host":"compute-%d","schema":{"name":"cloud.event","version":2},"resources":[`,
			i+1, pick(r, "instance.created", "instance.deleted", "volume.attached", "port.updated"), hexID(r, 16), hexID(r, 16), hexID(r, 16), r.IntN(400))
		for len(body) < 700 {
			body = fmt.Appendf(body, `{"kind":"instance","id":"%s","image":"%s","flavor":"%s","state":{"current":"%s","previous":"%s"},"usage":{"memory-mb":%d,"cpu-percent":%d},"network":{"address":"10.20.%d.%d"}},`,
				hexID(r, 16), hexID(r, 16), pick(r, "m1.small", "m1.large", "c4.xlarge"), pick(r, "active", "building", "stopped"), pick(r, "active", "building", "stopped"),
				r.IntN(65536), r.IntN(100), r.IntN(256), r.IntN(256))
		}
		body = append(body, `],"message":"`...)
		for len(body) < 1000 {
			body = append(body, pick(r, "the ", "instance ", "was ", "moved ", "to ", "another ", "host ", "because ", "of ", "maintenance ", "pending ")...)
		}
		body = append(body, `"}`...)
		entries[i] = Entry{Age: time.Duration(r.IntN(20)) * time.Millisecond, TTL: NoTTL, Message: Message{
			Exchange: "events", RoutingKey: pick(r, "compute.instance", "compute.volume", "network.port"),
			Properties: fmt.Appendf([]byte{0xB8, 0x00, 16}, "application/json\x02%08d", i), Body: body}}
	}
	return entries
}

func pick(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

func hexID(r *rand.Rand, bytes int) string {
	b := make([]byte, 0, 2*bytes)
	for range bytes / 8 {
		b = fmt.Appendf(b, "%016x", r.Uint64())
	}
	return string(b)
}

func sidecarBytes(s Sidecar) []byte {
	w := writer{}
	w.sidecar(&s)
	return must(w.b, w.err)
}
