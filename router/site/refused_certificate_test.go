package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/wan"
)

// unlistened has ams without an address: it dials nyc, and nyc can only wait for it. The honest lane is from sin to ams.
const unlistened = `
federation: acme
sites:
  ams: {}
  nyc: {listen: ["%(nyc)"]}
  sin: {listen: ["%(sin)"]}
routes:
` + ordersToNyc + `  news:
    from: {site: sin, exchange: orders, keys: ["orders.#"]}
    to: [{site: ams}]
`

// ofItsOwn gives a site a topology file and a federation of its own, with a store for it.
func (m *member) ofItsOwn(topology, federationName string) {
	m.world.t.Helper()
	m.write("topology.yaml", m.world.addressed(strings.Replace(topology, "federation: acme", "federation: "+federationName, 1)))
	before, err := os.ReadFile(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		m.world.t.Fatal(err)
	}
	file := strings.Replace(string(before), "federation: acme", "federation: "+federationName, 1)
	m.write("router.yaml", strings.Replace(file, "../topology.yaml", "topology.yaml", 1))
	if err := os.RemoveAll(m.storeDir()); err != nil {
		m.world.t.Fatal(err)
	}
	if _, err := localdir.Init(m.storeDir(), spool.Home{Site: m.id, Federation: federationName}, time.Now()); err != nil {
		m.world.t.Fatal(err)
	}
}

func TestACertificateThatTheDiallingSideRefusesIsToldAndCountedOnBothSides(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name    string
		make    func(t *testing.T, w *world) (acceptor *member) // what is wrong, and who stands at nyc's address
		counted string                                          // at ams
		reason  string
	}{
		{"of another authority", func(t *testing.T, w *world) *member {
			w.apply(unlistened)
			nyc := w.sites["nyc"]
			nyc.certify(authority(t, "acme", now), "nyc", time.Hour, now)
			return nyc
		}, "unknown-authority", "we refused the certificate of nyc: spiffe://acme/site/nyc is not signed"},
		{"of another federation", func(t *testing.T, w *world) *member {
			w.apply(unlistened)
			nyc, elsewhere := w.sites["nyc"], authority(t, "elsewhere", now)
			nyc.certify(elsewhere, "nyc", time.Hour, now)
			nyc.ofItsOwn(unlistened, "elsewhere")
			ams := w.sites["ams"]
			ams.write("ca.crt", string(w.ca.PEM())+string(elsewhere.PEM()))
			return nyc
		}, "wrong-federation", `of federation "elsewhere", not of "acme"`},
		{"of another site", func(t *testing.T, w *world) *member {
			w.add("lon")
			w.apply(strings.Replace(unlistened, "%(nyc)", "%(lon)", 1))
			lon := w.sites["lon"]
			lon.ofItsOwn("federation: acme\nsites:\n  ams: {}\n  lon: {listen: [\"%(lon)\"]}\n", "acme")
			return lon
		}, "wrong-site", `the peer is site "lon", not "nyc"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "ams", "nyc", "sin")
			ams, sin := w.sites["ams"], w.sites["sin"]
			acceptor := c.make(t, w)
			ams.declare("orders", "in")
			sin.declare("orders", "")
			for _, m := range []*member{ams, sin, acceptor} {
				m.start()
			}
			sin.bound("cq.out.news")

			eventually(t, "both say why, and what to do", func() bool {
				here, there := ams.linkTo("nyc"), acceptor.linkTo("ams")
				return here.State == admin.Down && strings.Contains(here.Reason, c.reason) && here.Fix != "" &&
					there.State == admin.Down && strings.Contains(there.Reason, "a router at 127.0.0.1 refused our certificate") && strings.Contains(there.Fix, "cloudqueue status at ams")
			})
			ams.wantCounted("nyc", c.counted)
			acceptor.wantCounted("ams", wan.RefusedOurs)
			unharmed(t, sin, ams)
		})
	}
}

// wantCounted checks that a reason is counted for the site and for its link with a peer, with what to do.
func (m *member) wantCounted(peer, reason string) {
	m.world.t.Helper()
	if m.refused("connection", reason) == 0 {
		m.world.t.Errorf("%s has not counted %s: %+v", m.id, reason, m.status().Refused)
	}
	for _, count := range m.linkTo(peer).Refused {
		if count.Reason == reason && count.Count > 0 && count.Fix != "" && count.Detail != "" {
			return
		}
	}
	m.world.t.Errorf("%s has not counted %s for %s, with its mend: %+v", m.id, reason, peer, m.linkTo(peer).Refused)
}
