package wan

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// use gives a site another identity.
func (s *site) use(id *pki.Identity) *site {
	s.cfg.Identity = func() *pki.Identity { return id }
	return s
}

func (w *world) another(federationName string) *pki.Authority {
	w.t.Helper()
	a, err := pki.NewAuthority(federationName, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// wantDown checks that a site says why it has no link, and how that is mended.
func (s *site) wantDown(peer *site, reason, fix string) {
	s.w.t.Helper()
	status := s.status(peer)
	if status.State != StateDown || !strings.Contains(status.Reason, reason) || !strings.Contains(status.Fix, fix) {
		s.w.t.Errorf("%s: state %s, reason %q, fix %q; want down, %q, %q", s.name, status.State, status.Reason, status.Fix, reason, fix)
	}
	if ups, _ := s.handler.counts(); ups != 0 {
		s.w.t.Errorf("%s: the link was up %d times", s.name, ups)
	}
}

func (s *site) wantRefused(reason string) {
	s.w.t.Helper()
	if got := s.endpoint.Refused(); got[reason] == 0 {
		s.w.t.Errorf("%s refused %v, want some %s", s.name, got, reason)
	}
}

// wantCounted checks that a refusal of one reason is all that is counted, for the endpoint and for the peer, with where it came from.
func (s *site) wantCounted(peer *site, reason, detail string) {
	s.w.t.Helper()
	status := s.status(peer)
	for whose, counts := range map[string]map[string]uint64{"the endpoint": s.endpoint.Refused(), "the peer": status.Refused} {
		if len(counts) != 1 || counts[reason] == 0 {
			s.w.t.Errorf("%s: counted for %s: %v, want %s alone", s.name, whose, counts, reason)
		}
	}
	if got := status.LastRefused[reason].Detail; !strings.Contains(got, detail) {
		s.w.t.Errorf("%s: the last %s is %q, want %q", s.name, reason, got, detail)
	}
}

func TestUnknownAuthorityIsReportedOnBothSides(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.use(w.identity(w.another("example"), "ams", 0)) // it trusts both authorities, nyc only one
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)

		ams.wantDown(nyc, "nyc refused our certificate", "pki issue ams")
		nyc.wantDown(ams, "not signed by an authority that we trust", "ca.crt")
		nyc.wantCounted(ams, "unknown-authority", "10.0.0.1")
		ams.wantCounted(nyc, RefusedOurs, "dialled nyc")
	})
}

func TestAServerThatWeDoNotTrustIsReportedOnBothSides(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		nyc.use(w.identity(w.another("example"), "nyc", 0))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)

		ams.wantDown(nyc, "we refused the certificate of nyc: spiffe://example/site/nyc is not signed", "ca.crt")
		ams.wantCounted(nyc, "unknown-authority", "nyc at 10.0.0.2:1000: spiffe://example/site/nyc is not signed")
		nyc.wantDown(ams, "a router at 10.0.0.1 refused our certificate (CRYPTO_ERROR 0x12a", "cloudqueue pki issue nyc, or give both sites the same ca.crt")
		nyc.wantCounted(ams, RefusedOurs, "10.0.0.1")
		if s := ams.status(nyc); s.NextRetry.IsZero() {
			t.Error("no next retry is shown")
		}
	})
}

func TestAnotherSiteAtThePeersAddressIsRefused(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc, sin := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2"), w.site("sin", "10.0.0.3")
		sin.start(ams.passive())
		wrong := nyc.peer()
		wrong.Addresses = []string{hostAddress(sin.host)}
		ams.start(wrong)
		sleep(time.Second)

		ams.wantDown(nyc, `the peer is site "sin", not "nyc"`, "address of nyc")
		ams.wantCounted(nyc, "wrong-site", `nyc at 10.0.0.3:1000: the peer is site "sin"`)
		sin.wantDown(ams, "a router at 10.0.0.1 refused our certificate", "cloudqueue status at ams says why")
		sin.wantCounted(ams, RefusedOurs, "10.0.0.1")
	})
}

func TestAnotherFederationIsRefused(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		elsewhere := w.another("elsewhere")
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.use(w.identity(elsewhere, "ams", 0)).cfg.Federation = "elsewhere"
		w.authority, elsewhere = elsewhere, w.authority // nyc trusts both
		nyc.use(w.identity(elsewhere, "nyc", 0))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)

		ams.wantDown(nyc, `of federation "example", not of "elsewhere"`, "one federation")
		ams.wantCounted(nyc, "wrong-federation", "nyc at 10.0.0.2:1000")
		nyc.wantDown(ams, "a router at 10.0.0.1 refused our certificate", "cloudqueue status at ams says why")
		nyc.wantCounted(ams, RefusedOurs, "10.0.0.1")
	})
}

func TestARefusalOfOurCertificateIsShownForThePeersThatItMayComeFrom(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc, sin, lon, tok := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2"), w.site("sin", "10.0.0.3"), w.site("lon", "10.0.0.4"), w.site("tok", "10.0.0.5")
		atAddress := ams.peer()
		atAddress.Dial = false
		nyc.start(atAddress, sin.passive(), lon.peer(), tok.passive())
		tok.start(nyc.peer())
		wrong := nyc.peer()
		wrong.Site = "rom"     // whose certificate is not the one that nyc shows
		sleep(3 * time.Second) // nyc could have dialled first
		ams.start(wrong)
		sleep(time.Second)

		for _, one := range []*site{ams, sin} {
			want := fmt.Sprintf("a router at 10.0.0.1 refused our certificate (CRYPTO_ERROR 0x12a); it may be that of %s", one.name)
			got := nyc.status(one)
			if got.State != StateDown || got.Reason != want || !strings.Contains(got.Fix, fmt.Sprintf("status at %s says why", one.name)) || got.Refused[RefusedOurs] == 0 {
				t.Errorf("%s: state %s, reason %q, fix %q, refused %v", one.name, got.State, got.Reason, got.Fix, got.Refused)
			}
		}
		for _, other := range []*site{lon, tok} { // of another host, and linked
			if got := nyc.status(other); got.Refused[RefusedOurs] != 0 || strings.Contains(got.Reason, "refused") {
				t.Errorf("%s: %q, refused %v", other.name, got.Reason, got.Refused)
			}
		}
	})
}

func TestAnExpiredCertificateIsReportedOnBothSides(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.use(w.identity(w.authority, "ams", time.Minute))
		sleep(2 * time.Minute)
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)

		ams.wantDown(nyc, "nyc refused our certificate", "pki issue ams")
		nyc.wantDown(ams, "has ended", "pki issue ams")
		nyc.wantCounted(ams, "certificate-expired", "10.0.0.1")
		ams.wantCounted(nyc, RefusedOurs, "dialled nyc")
	})
}

func TestALiveLinkIsCutWhenTheCertificateEnds(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.use(w.identity(w.authority, "ams", time.Minute))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(59 * time.Second)
		if s := nyc.status(ams); s.State != StateRunning {
			t.Fatalf("before the end: %+v", s)
		}

		sleep(2 * time.Second)

		nyc.wantRefused("certificate-expired")
		if s := nyc.status(ams); s.State != StateDown || !strings.Contains(s.Reason, "has ended") {
			t.Errorf("after the end: %s, %q", s.State, s.Reason)
		}
	})
}

func TestALiveLinkIsCutWhenItsAuthorityIsRemoved(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		old := w.authority
		w.authority = w.another("example")
		ams.use(w.identity(old, "ams", 0)) // of the old one still, and trusts both
		var current atomic.Pointer[pki.Identity]
		current.Store(w.identity(old, "nyc", 0)) // trusts the new one and the old one
		nyc.cfg.Identity = current.Load
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)
		if s := nyc.status(ams); s.State != StateRunning {
			t.Fatalf("with both authorities: %s %q", s.State, s.Reason)
		}

		current.Store(w.identity(w.authority, "nyc", 0))
		sleep(time.Second)

		if s := nyc.status(ams); s.State != StateDown || !strings.Contains(s.Reason, "not signed by an authority that we trust") {
			t.Errorf("%s, %q", s.State, s.Reason)
		}
	})
}

func TestASiteThatIsNoPeerIsRefusedWithAWordToBoth(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		nyc.start()
		ams.start(nyc.peer())
		sleep(time.Second)

		ams.wantDown(nyc, "nyc refused us with NO_GRANT: nyc has no link with ams", "")
		nyc.wantRefused("not-a-peer")
	})
}

func TestAHelloThatContradictsTheCertificateIsRefused(t *testing.T) {
	for name, change := range map[string]struct {
		change func(h *federation.Hello)
		reason string
	}{
		"site":       {func(h *federation.Hello) { h.Site = "sin" }, "hello-site"},
		"federation": {func(h *federation.Hello) { h.Federation = "elsewhere" }, "hello-federation"},
		"version":    {func(h *federation.Hello) { h.MinVersion, h.MaxVersion = 2, 3 }, "hello-version"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").dial(nyc).openControl()
				h := r.hello()
				change.change(&h)

				r.write(r.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))
				r.send(h)

				if ack := r.ack(); ack.Verdict == federation.OK || ack.Text == "" {
					t.Errorf("answered %s %q, want a refusal", ack.Verdict, ack.Text)
				}
				if got := r.closed(3 * time.Second); code(got.ErrorCode) != codeRefused {
					t.Errorf("closed with %v", got)
				}
				nyc.wantRefused(change.reason)
			})
		})
	}
}
