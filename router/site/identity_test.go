package site_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

func (m *member) storeDir() string { return filepath.Join(m.dir(), "data", "spool") }

func (m *member) home() spool.Home { return spool.Home{Site: m.id, Federation: "acme"} }

// linkTo is what status says of a link.
func (m *member) linkTo(peer string) admin.Link {
	for _, l := range m.status().Links {
		if l.Peer == peer {
			return l
		}
	}
	return admin.Link{}
}

func TestARouterRefusesAnEmptyStoreAndSaysHowToMakeOne(t *testing.T) {
	w := newWorld(t, "ams")
	m := w.sites["ams"]
	if err := errors.Join(os.RemoveAll(m.storeDir()), os.Mkdir(m.storeDir(), 0o700)); err != nil {
		t.Fatal(err)
	}
	cfg, err := site.ReadConfig(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	_, err = site.Open(t.Context(), cfg, "test", nil)

	if !errors.Is(err, spool.ErrNotInitialised) || !strings.Contains(err.Error(), "cloudqueue spool init") {
		t.Errorf("open: %v", err)
	}
}

func TestASecondRouterOnTheSameStoreIsRefused(t *testing.T) {
	ams, _ := running(t, twoSites, "#")
	cfg, err := site.ReadConfig(filepath.Join(ams.dir(), "router.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	_, err = site.Open(t.Context(), cfg, "test", nil)

	if !errors.Is(err, spool.ErrHeld) {
		t.Errorf("open: %v", err)
	}
}

func TestADestinationThatLostItsStoreGoesOnFromTheReceiptFlagged(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 20)
	ams.receipted("ams/orders", 20)
	nyc.stopRouter()
	ams.publish("orders", 21, 30)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 30 })

	if err := os.RemoveAll(nyc.storeDir()); err != nil {
		t.Fatal(err)
	}
	if _, err := localdir.Init(nyc.storeDir(), nyc.home(), time.Now()); err != nil {
		t.Fatal(err)
	}
	nyc.start()
	ams.receipted("ams/orders", 30)
	lossSaid(t, nyc)
	nyc.stopRouter()
	nyc.start() // a day long it is said, over restarts too
	ams.publish("orders", 31, 40)
	ams.receipted("ams/orders", 40)
	lossSaid(t, nyc)

	// 21 to 30 were assigned before the new store was known: nobody knows whether the lost one had published them.
	want := append(numbered(1, 20), starred(21, 30)...)
	if diff := cmp.Diff(append(want, numbered(31, 40)...), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
	nyc.balanced()
}

// lossSaid waits until status says what is lost, and what to type.
func lossSaid(t *testing.T, nyc *member) {
	t.Helper()
	eventually(t, "the lane says that an earlier store is lost, and what to type", func() bool {
		l := nyc.laneIn("ams/orders")
		return l.State == admin.Degraded && strings.Contains(l.Reason, "an earlier store of this site is lost: the lane goes on after offset 20, flagged up to 30") && strings.Contains(l.Fix, "cloudqueue books")
	})
}

func starred(first, last int) []string {
	out := numbered(first, last)
	for i := range out {
		out[i] += "*"
	}
	return out
}

func TestAnOriginPutBackToASnapshotIsFencedAndStatusSaysWhatToType(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)
	ams.stopRouter()
	snapshot := filepath.Join(ams.dir(), "snapshot")
	if err := os.CopyFS(snapshot, os.DirFS(ams.storeDir())); err != nil {
		t.Fatal(err)
	}
	ams.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 11, 200)
	ams.receipted("ams/orders", 200)
	ams.stopRouter()
	ams.start() // so that nyc has seen the later LSN
	eventually(t, "the link is up", func() bool { return ams.linkTo("nyc").State == admin.Running })
	ams.stopRouter()

	if err := errors.Join(os.RemoveAll(ams.storeDir()), os.Rename(snapshot, ams.storeDir())); err != nil {
		t.Fatal(err)
	}
	ams.start()

	eventually(t, "status says that the store is rewound, and what to type", func() bool {
		l := ams.linkTo("nyc")
		return strings.Contains(l.Reason+l.Fix, "rewound") && strings.Contains(l.Reason+l.Fix, "cloudqueue spool reseal")
	})
	if diff := cmp.Diff(numbered(1, 200), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.stopRouter()
	ams.reseal()
	ams.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 201, 210)

	// Messages 1 to 10 have no receipt in the snapshot as far as it knows: they may come again, flagged.
	eventually(t, "the later messages arrive", func() bool { return len(firsts(nyc.bodies("in"))) == 210 })
	unrepeated(t, nyc.bodies("in"))
	ams.balanced()
	nyc.balanced()
}

func (m *member) reseal() {
	m.world.t.Helper()
	cfg, err := site.ReadConfig(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		m.world.t.Fatal(err)
	}
	if _, err := site.Reseal(m.world.t.Context(), cfg, router.ResealRequest{Who: "test", Why: "put back"}, slog.New(slog.DiscardHandler)); err != nil {
		m.world.t.Fatal(err)
	}
}
