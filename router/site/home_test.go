package site_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloudqueue/router"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
)

func TestTheSwappedStoresOfTwoSitesAreRefusedUntouched(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	ams.publish("orders", 1, 20)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 20 })
	ams.stopRouter()
	ams.swapsStoreWith(nyc)
	before := []spool.Identity{identified(t, ams.storeDir()), identified(t, nyc.storeDir())}

	ams.refusedToOpen("belongs to site nyc of federation acme, and the router's file says site ams of federation acme")
	nyc.refusedToOpen("belongs to site ams of federation acme, and the router's file says site nyc of federation acme")

	for i, m := range []*member{ams, nyc} {
		if got := identified(t, m.storeDir()); got.Epoch != before[i].Epoch {
			t.Errorf("%s claimed the store that it was refused: epoch %d, before %d", m.id, got.Epoch, before[i].Epoch)
		}
	}
	ams.swapsStoreWith(nyc)
	ams.start()
	nyc.start()
	ams.receipted("ams/orders", 20)
	ams.balanced()
	nyc.balanced()
}

func TestTheStoreOfAnotherFederationIsRefused(t *testing.T) {
	w := newWorld(t, "ams")
	m := w.sites["ams"]
	file := filepath.Join(m.dir(), "router.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m.write("router.yaml", strings.Replace(string(text), "federation: acme", "federation: apex", 1))

	m.refusedToOpen("belongs to site ams of federation acme, and the router's file says site ams of federation apex")
}

// swapsStoreWith exchanges the folders of two stopped routers.
func (m *member) swapsStoreWith(other *member) {
	m.world.t.Helper()
	aside := filepath.Join(m.world.dir, "aside")
	if err := errors.Join(os.Rename(m.storeDir(), aside), os.Rename(other.storeDir(), m.storeDir()), os.Rename(aside, other.storeDir())); err != nil {
		m.world.t.Fatal(err)
	}
}

// refusedToOpen checks that neither a router nor a reseal takes the store, and what they say.
func (m *member) refusedToOpen(words string) {
	t := m.world.t
	t.Helper()
	cfg, err := site.ReadConfig(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s, opened := site.Open(t.Context(), cfg, "test", slog.New(slog.DiscardHandler))
	if opened == nil {
		t.Error(m.id, "opened it", s.Close())
	}
	_, resealed := site.Reseal(t.Context(), cfg, router.ResealRequest{Who: "test", Why: "put back"}, slog.New(slog.DiscardHandler))
	for what, err := range map[string]error{"open": opened, "reseal": resealed} {
		if !errors.Is(err, spool.ErrOtherHome) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s %s: %v, want %q", m.id, what, err, words)
		}
	}
}
