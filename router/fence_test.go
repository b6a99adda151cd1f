package router

import (
	"math"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestAPeersStoreIsComparedWithWhatWasSeenOfIt(t *testing.T) {
	born := time.UnixMilli(1764534000000)
	known := federation.PeerMark{Store: federation.StoreID{1}, Born: born, Epoch: 5, LastLSN: 100, Boot: federation.BootID{1}}
	same := federation.Hello{Store: known.Store, Born: born, Epoch: 5, LastLSN: 100, Boot: known.Boot}
	for _, c := range []struct {
		name   string
		change func(h *federation.Hello)
		linked bool // the process seen last is
		want   string
	}{
		{"the same process", func(*federation.Hello) {}, true, ""},
		{"its second connection, a little behind", func(h *federation.Hello) { h.LastLSN = 90 }, true, ""},
		{"a restart", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 6, 101, federation.BootID{2}, openings(5, 100)
		}, false, ""},
		{"a restart after restarts that were not seen", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 8, 101, federation.BootID{2}, openings(4, 90, 5, 100, 6, 100)
		}, false, ""},
		{"a restart after more than a store remembers", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 1000, 900, federation.BootID{2}, manyOpenings(6)
		}, false, ""},
		{"a restart before the old link is known to be dead", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 6, 101, federation.BootID{2}, openings(5, 100)
		}, true, ""},
		{"an older copy put back that went on past what was seen", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 7, 5000, federation.BootID{2}, openings(4, 90, 6, 200)
		}, false, "store rewound"},
		{"a snapshot of the opening that was seen, put back", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 6, 5000, federation.BootID{2}, openings(5, 99)
		}, false, "store rewound"},
		{"an older copy that was opened more often than a store remembers", func(h *federation.Hello) {
			h.Epoch, h.LastLSN, h.Boot, h.Openings = 1000, 5000, federation.BootID{2}, append(openings(4, 90), manyOpenings(6)[1:]...)
		}, false, "store rewound"},
		{"a snapshot put back", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 90, federation.BootID{2} }, false, "store rewound"},
		{"a copy, while the original runs", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 90, federation.BootID{2} }, true, "store cloned"},
		{"the original, after a copy was seen", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 4, 200, federation.BootID{2} }, false, "store rewound or cloned"},
		{"a snapshot put back under a clock that was put back too", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 4, 90, federation.BootID{2} }, false,
			"store rewound or cloned"},
		{"a copy that was opened in the same millisecond", func(h *federation.Hello) { h.Boot = federation.BootID{2} }, false, "store rewound or cloned"},
		{"one process that goes back", func(h *federation.Hello) { h.Epoch = 4 }, false, "store rewound"},
		{"a newer store", func(h *federation.Hello) { h.Store, h.Born, h.LastLSN = federation.StoreID{2}, born.Add(1), 1 }, false, ""},
		{"an older store", func(h *federation.Hello) { h.Store, h.Born = federation.StoreID{2}, born.Add(-1) }, false, "store replaced by an older one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := same
			c.change(&h)
			got := fence(known, h, c.linked)
			if (c.want == "") != (got.Why == "") || !strings.HasPrefix(got.Why, c.want) || got.Why != "" && (!strings.Contains(got.Mend, "cloudqueue spool ") || strings.Contains(got.Mend, "delete")) {
				t.Errorf("got %+v, want %q with what to type", got, c.want)
			}
		})
	}
}

// openings are pairs of an epoch and a last LSN.
func openings(pairs ...uint64) (out []federation.Opening) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, federation.Opening{Epoch: federation.Epoch(pairs[i]), Last: federation.LSN(pairs[i+1])})
	}
	return out
}

// manyOpenings are as many as a store remembers, from an epoch on.
func manyOpenings(from federation.Epoch) (out []federation.Opening) {
	for i := range federation.MaxOpenings {
		out = append(out, federation.Opening{Epoch: from + federation.Epoch(i), Last: 800})
	}
	return out
}

func TestWhatAFencedPeerIsToldFitsItsFrame(t *testing.T) {
	known := federation.PeerMark{Store: federation.StoreID{1}, Epoch: math.MaxUint64, LastLSN: math.MaxUint64, Boot: federation.BootID{1}}
	h := federation.Hello{Store: known.Store, Epoch: math.MaxUint64 - 1, LastLSN: math.MaxUint64 - 1, Boot: federation.BootID{2}}
	for _, runs := range []bool{false, true} {
		if text := fence(known, h, runs).Text(); len(text) > 255 { // HelloAck's limit; the end is the mend
			t.Errorf("%d bytes: %s", len(text), text)
		}
	}
}
