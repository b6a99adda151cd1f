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
		{"a restart", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 101, federation.BootID{2} }, false, ""},
		{"a restart before the old link is known to be dead", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 101, federation.BootID{2} }, true, ""},
		{"a snapshot put back", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 90, federation.BootID{2} }, false, "store rewound"},
		{"a copy, while the original runs", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 6, 90, federation.BootID{2} }, true, "store cloned"},
		{"the original, after a copy was seen", func(h *federation.Hello) { h.Epoch, h.LastLSN, h.Boot = 4, 200, federation.BootID{2} }, false, "store cloned"},
		{"a copy that was opened in the same millisecond", func(h *federation.Hello) { h.Boot = federation.BootID{2} }, false, "store cloned"},
		{"one process that goes back", func(h *federation.Hello) { h.Epoch = 4 }, false, "store rewound"},
		{"a newer store", func(h *federation.Hello) { h.Store, h.Born, h.LastLSN = federation.StoreID{2}, born.Add(1), 1 }, false, ""},
		{"an older store", func(h *federation.Hello) { h.Store, h.Born = federation.StoreID{2}, born.Add(-1) }, false, "store replaced by an older one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := same
			c.change(&h)
			got := fence(known, h, c.linked)
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) || got != "" && !strings.Contains(got, "cloudqueue spool ") {
				t.Errorf("got %q, want %q with what to type", got, c.want)
			}
		})
	}
}

func TestWhatAFencedPeerIsToldFitsItsFrame(t *testing.T) {
	known := federation.PeerMark{Store: federation.StoreID{1}, Epoch: math.MaxUint64, LastLSN: math.MaxUint64, Boot: federation.BootID{1}}
	h := federation.Hello{Store: known.Store, Epoch: math.MaxUint64 - 1, LastLSN: math.MaxUint64 - 1, Boot: federation.BootID{2}}
	if text := fence(known, h, true); len(text) > 255 { // HelloAck's limit; the end is the mend
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
