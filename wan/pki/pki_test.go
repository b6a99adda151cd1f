package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func newAuthority(t *testing.T, name string) *Authority {
	t.Helper()
	a, err := NewAuthority(name, noon)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newSite(t *testing.T, a *Authority, site federation.SiteID, authorities ...[]byte) *Identity {
	t.Helper()
	certificate, key, err := a.Issue(site, 0, noon)
	if err != nil {
		t.Fatal(err)
	}
	all := a.PEM()
	for _, other := range authorities {
		all = append(all, other...)
	}
	id, err := NewIdentity(certificate, key, all)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// chain issues a leaf with any names and dates.
func chain(t *testing.T, a *Authority, from, to time.Time, names ...string) []*x509.Certificate {
	t.Helper()
	var urls []*url.URL
	for _, n := range names {
		u, err := url.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, u)
	}
	certificate, _, err := a.issue(urls, from, to)
	if err != nil {
		t.Fatal(err)
	}
	all, err := parseCertificates(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestVerifyAcceptsTheNamedPeer(t *testing.T) {
	a := newAuthority(t, "example")
	id := newSite(t, a, "ams")
	got, err := id.Verify(chain(t, a, noon, noon.Add(time.Hour), "spiffe://example/site/nyc"), "nyc", noon)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Peer{"nyc", noon.Add(time.Hour)}); !got.NotAfter.Equal(want.NotAfter) || got.Site != want.Site {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestVerifyRefusesWithReasonAndFix(t *testing.T) {
	ours, other := newAuthority(t, "example"), newAuthority(t, "example")
	// An authority without name constraints, as another tool makes it, can sign another federation's name.
	loose := newLooseAuthority(t)
	id := newSite(t, ours, "ams", loose.PEM())
	hour := noon.Add(time.Hour)
	for _, c := range []struct {
		name    string
		chain   []*x509.Certificate
		reason  Reason
		claimed federation.SiteID
	}{
		{"no certificate", nil, NoCertificate, ""},
		{"another authority", chain(t, other, noon, hour, "spiffe://example/site/nyc"), UnknownAuthority, "nyc"},
		{"expired", chain(t, ours, noon.Add(-2*time.Hour), noon.Add(-time.Hour), "spiffe://example/site/nyc"), Expired, "nyc"},
		{"not yet valid", chain(t, ours, hour, hour.Add(time.Hour), "spiffe://example/site/nyc"), NotYetValid, "nyc"},
		{"another site", chain(t, ours, noon, hour, "spiffe://example/site/sin"), WrongSite, "sin"},
		{"another federation", chain(t, loose, noon, hour, "spiffe://elsewhere/site/nyc"), WrongFederation, "nyc"},
		{"outside the authority's constraint", chain(t, ours, noon, hour, "spiffe://elsewhere/site/nyc"), BadCertificate, "nyc"},
		{"no name", chain(t, ours, noon, hour), NoSiteName, ""},
		{"two names", chain(t, ours, noon, hour, "spiffe://example/site/nyc", "spiffe://example/site/sin"), NoSiteName, ""},
		{"another scheme", chain(t, ours, noon, hour, "https://example/site/nyc"), NoSiteName, ""},
		{"a path below the site", chain(t, ours, noon, hour, "spiffe://example/site/nyc/x"), NoSiteName, ""},
		{"a query", chain(t, ours, noon, hour, "spiffe://example/site/nyc?x"), NoSiteName, ""},
		{"an escape", chain(t, ours, noon, hour, "spiffe://example/site/n%79c"), NoSiteName, ""},
		{"capitals", chain(t, ours, noon, hour, "spiffe://example/site/NYC"), NoSiteName, ""},
		{"a port", chain(t, ours, noon, hour, "spiffe://example:1/site/nyc"), NoSiteName, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := id.Verify(c.chain, "nyc", noon)
			var r *RefusedError
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Reason != c.reason || r.Claimed != c.claimed || r.Detail == "" || r.Fix == "" {
				t.Errorf("got %+v, want reason %s, claimed %q, a detail and a fix", r, c.reason, c.claimed)
			}
		})
	}
}

func TestPeerEndsWithItsAuthority(t *testing.T) {
	a := newAuthority(t, "example")
	id := newSite(t, a, "ams")
	got, err := id.Verify(chain(t, a, noon, noon.Add(2*AuthorityLife), "spiffe://example/site/nyc"), "", noon)
	if err != nil || !got.NotAfter.Equal(a.NotAfter()) {
		t.Errorf("got %v, %v, want the authority's end %v", got.NotAfter, err, a.NotAfter())
	}
}

func TestBothAuthoritiesHoldWhileOneReplacesTheOther(t *testing.T) {
	old, next := newAuthority(t, "example"), newAuthority(t, "example")
	id := newSite(t, old, "ams", next.PEM())
	for _, a := range []*Authority{old, next} {
		if _, err := id.Verify(chain(t, a, noon, noon.Add(time.Hour), "spiffe://example/site/nyc"), "nyc", noon); err != nil {
			t.Error(err)
		}
	}
}

func TestIssueRefusesNamesThatAreNotSites(t *testing.T) {
	a := newAuthority(t, "example")
	for _, site := range []federation.SiteID{"", "a b", "A", "a/b", "ä", "a.b", federation.SiteID(make([]byte, 64))} {
		if _, _, err := a.Issue(site, 0, noon); err == nil {
			t.Errorf("issued for %q", site)
		}
	}
	for _, name := range []string{"a b", "a.b"} { // no topology and no router file can name it
		if _, err := NewAuthority(name, noon); err == nil {
			t.Errorf("made an authority for %q", name)
		}
	}
}

func TestKeysAreForTheirOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	a, err := Create(dir, "example", noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.IssueTo(dir, "ams", 0, noon); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{AuthorityKey, "ams.key"} {
		info, err := os.Stat(filepath.Join(dir, f))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "ams.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(paths(dir, "ams"), nil); err == nil {
		t.Error("loaded a key that everybody can read")
	}
}

func TestCreateNeverReplacesAnAuthority(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, "example", noon); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, AuthorityKey))
	if _, err := Create(dir, "example", noon); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want fs.ErrExist", err)
	}
	after, _ := os.ReadFile(filepath.Join(dir, AuthorityKey))
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the key changed: %s", diff)
	}
}

func TestOpenReadsWhatCreateWrote(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir, "example", noon); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a.Federation() != "example" || !a.NotAfter().Equal(noon.Add(AuthorityLife)) {
		t.Errorf("got %q until %v", a.Federation(), a.NotAfter())
	}
}

func TestIssuingAgainKeepsTheOtherAuthorities(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := newAuthority(t, "example").IssueTo(dir, "ams", 0, noon); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readCertificates(filepath.Join(dir, AuthorityCertificate))
	if err != nil || len(all) != 2 {
		t.Errorf("got %d authorities, %v, want 2", len(all), err)
	}
	if _, err := Load(paths(dir, "ams"), nil); err != nil {
		t.Error(err)
	}
}

func TestRunTakesANewCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, err := Create(dir, "example", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		issue := func(life time.Duration) {
			t.Helper()
			if err := a.IssueTo(dir, "ams", life, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		issue(time.Hour)
		f, err := Load(paths(dir, "ams"), nil)
		if err != nil {
			t.Fatal(err)
		}
		go f.Run(t.Context())

		issue(2 * time.Hour)
		end := time.Now().Add(2 * time.Hour)
		time.Sleep(reloadEvery)
		synctest.Wait()
		if got := f.Identity().NotAfter(); !got.Equal(end) {
			t.Errorf("until %v, want %v", got, end)
		}
	})
}

func TestABrokenFileKeepsTheIdentityAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	a, err := Create(dir, "example", noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.IssueTo(dir, "ams", 0, noon), a.IssueTo(dir, "nyc", 0, noon)); err != nil {
		t.Fatal(err)
	}
	f, err := Load(paths(dir, "ams"), nil)
	if err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(filepath.Join(dir, "ams.crt"))
	nyc, _ := os.ReadFile(filepath.Join(dir, "nyc.crt"))
	before := f.Identity()
	for _, bad := range [][]byte{nil, []byte("nonsense"), nyc, good[:len(good)/2]} {
		if err := os.WriteFile(filepath.Join(dir, "ams.crt"), bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := f.Reload(); err == nil || f.Identity() != before || f.State().State != stateHeld || f.State().Fix == "" {
			t.Errorf("with %d bytes: %v, %+v", len(bad), err, f.State())
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ams.crt"), good, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.Reload(); err != nil || f.State().State != "running" {
		t.Errorf("after mending: %v, %+v", err, f.State())
	}
}

func TestAnotherSitesFilesAreNotTaken(t *testing.T) {
	dir := t.TempDir()
	a, err := Create(dir, "example", noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.IssueTo(dir, "ams", 0, noon), a.IssueTo(dir, "nyc", 0, noon)); err != nil {
		t.Fatal(err)
	}
	f, err := Load(paths(dir, "ams"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{".crt", ".key"} {
		if err := os.Rename(filepath.Join(dir, "nyc"+suffix), filepath.Join(dir, "ams"+suffix)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Reload(); err == nil || f.Identity().Site() != "ams" {
		t.Errorf("got %v, site %s", err, f.Identity().Site())
	}
}

func TestResetKeySurvivesARestartAndDiffersBetweenSites(t *testing.T) {
	dir := t.TempDir()
	a, err := Create(dir, "example", noon)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.IssueTo(dir, "ams", 0, noon), a.IssueTo(dir, "nyc", 0, noon)); err != nil {
		t.Fatal(err)
	}
	key := func(site string) [32]byte {
		f, err := Load(paths(dir, site), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f.Identity().ResetKey()
	}
	first, again := key("ams"), key("ams")
	if first != again || first == key("nyc") || first == [32]byte{} {
		t.Error("reset keys do not follow the private keys")
	}
}

func FuzzParseName(f *testing.F) {
	f.Add("spiffe://example/site/ams")
	f.Add("spiffe://u@example:1/site/ams/../x?q#f")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			return
		}
		if n, err := parseName(u); err == nil && n.String() != s {
			t.Errorf("%q was read as %q", s, n)
		}
	})
}

func paths(dir, site string) Paths {
	return Paths{filepath.Join(dir, site+".crt"), filepath.Join(dir, site+".key"), filepath.Join(dir, AuthorityCertificate)}
}

func newLooseAuthority(t *testing.T) *Authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: serial(), NotBefore: noon.Add(-time.Hour), NotAfter: noon.Add(AuthorityLife), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	c, err := sign(template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{"elsewhere", c, key}
}
