package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"cloudqueue/durable"
	"cloudqueue/federation"
)

// Lives of certificates that the caller does not choose.
const (
	AuthorityLife = 10 * 365 * 24 * time.Hour // chosen: longer than a site lives without anyone touching it
	LeafLife      = 365 * 24 * time.Hour      // chosen: renewal by hand once a year; automation passes less
)

// backdate is how far before now a certificate begins: the peer's clock may be behind ours (chosen: a day's worth would
// hide a wrong clock).
const backdate = time.Hour

// AuthorityCertificate and AuthorityKey are the names of an authority's files in its folder.
const (
	AuthorityCertificate = "ca.crt"
	AuthorityKey         = "ca.key"
)

// Authority issues the certificates of a federation's sites. It is immutable.
type Authority struct {
	federation  string
	certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes a self-signed authority that may name sites of this federation only.
func NewAuthority(federationName string, now time.Time) (*Authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	return authorityWith(federationName, key, now)
}

func newKey() (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return key, nil
}

func authorityWith(federationName string, key crypto.Signer, now time.Time) (*Authority, error) {
	if err := checkFederation(federationName); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "cloudqueue " + federationName},
		NotBefore: now.Add(-backdate), NotAfter: now.Add(AuthorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedURIDomains: []string{federationName}, PermittedDNSDomainsCritical: true,
	}
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	return &Authority{federationName, certificate, key}, nil
}

// Create makes an authority and writes it to dir: ca.key with mode 0600, then ca.crt. It never overwrites: when there
// is a ca.crt already, the error wraps fs.ErrExist. A ca.key alone is what a crash between the two leaves; it becomes
// the authority's.
func Create(dir, federationName string, now time.Time) (*Authority, error) {
	if err := checkFederation(federationName); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, AuthorityCertificate)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist})
	}
	key, err := keyIn(filepath.Join(dir, AuthorityKey))
	if err != nil {
		return nil, err
	}
	a, err := authorityWith(federationName, key, now)
	if err != nil {
		return nil, err
	}
	return a, durable.Create(path, a.PEM(), 0o644)
}

// keyIn gives the key in a file, which it makes when there is none.
func keyIn(path string) (crypto.Signer, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = newKey(); err != nil {
		return nil, err
	}
	b, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return key, durable.Create(path, b, 0o600)
}

// Open reads the authority in dir.
func Open(dir string) (*Authority, error) {
	certificates, err := readCertificates(filepath.Join(dir, AuthorityCertificate))
	if err != nil {
		return nil, err
	}
	key, err := readKey(filepath.Join(dir, AuthorityKey))
	if err != nil {
		return nil, err
	}
	// The file may hold several authorities while one is replaced; ours is the one that fits the key.
	for _, c := range certificates {
		if samePublicKey(c.PublicKey, key.Public()) && len(c.PermittedURIDomains) == 1 {
			return &Authority{c.PermittedURIDomains[0], c, key}, nil
		}
	}
	return nil, fmt.Errorf("%s: none of its certificates is a cloudqueue authority with the key in %s",
		filepath.Join(dir, AuthorityCertificate), AuthorityKey)
}

// Federation is the name that stands in every certificate of this authority.
func (a *Authority) Federation() string { return a.federation }

// NotAfter is when the authority ends, and with it everything that it issued.
func (a *Authority) NotAfter() time.Time { return a.certificate.NotAfter }

// PEM is the authority's certificate, to be given to every site.
func (a *Authority) PEM() []byte { return encodeCertificate(a.certificate) }

// Issue makes a key and a certificate for a site, as PEM. A life of 0 is LeafLife; it ends with the authority at the
// latest.
func (a *Authority) Issue(site federation.SiteID, life time.Duration, now time.Time) (
	certificate, key []byte, err error) {
	if life == 0 {
		life = LeafLife
	}
	end := now.Add(life)
	if end.After(a.certificate.NotAfter) {
		end = a.certificate.NotAfter
	}
	if !end.After(now) {
		return nil, nil, fmt.Errorf("issue for %s: the certificate would have ended at %s", site,
			end.Format(time.RFC3339))
	}
	if err := checkSite(site); err != nil {
		return nil, nil, err
	}
	return a.issue([]*url.URL{name{a.federation, site}.url()}, now.Add(-backdate), end)
}

// issue signs a leaf with any names and dates.
func (a *Authority) issue(names []*url.URL, from, to time.Time) (certificate, key []byte, err error) {
	signer, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	leaf, err := sign(&x509.Certificate{
		SerialNumber: serial(), NotBefore: from, NotAfter: to, URIs: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth,
			x509.ExtKeyUsageServerAuth},
	}, a.certificate, signer.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign: %w", err)
	}
	if key, err = encodeKey(signer); err != nil {
		return nil, nil, err
	}
	return encodeCertificate(leaf), key, nil
}

// IssueTo issues for a site and writes SITE.crt, SITE.key (mode 0600) and ca.crt to dir. An earlier certificate of the
// site is replaced; a running router takes the new one.
func (a *Authority) IssueTo(dir string, site federation.SiteID, life time.Duration, now time.Time) error {
	certificate, key, err := a.Issue(site, life, now)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The key goes first: a reader that finds the pair not matching keeps what it has and looks again.
	return errors.Join(
		durable.Replace(filepath.Join(dir, string(site)+".key"), key, 0o600),
		durable.Replace(filepath.Join(dir, string(site)+".crt"), certificate, 0o644),
		a.addTo(filepath.Join(dir, AuthorityCertificate)),
	)
}

// addTo writes the authority to a file of authorities, and keeps the others that stand in it.
func (a *Authority) addTo(path string) error {
	have, err := readCertificates(path)
	if errors.Is(err, fs.ErrNotExist) {
		return durable.Replace(path, a.PEM(), 0o644)
	}
	if err != nil {
		return err
	}
	var all []byte
	for _, c := range have {
		if c.Equal(a.certificate) {
			return nil
		}
		all = append(all, encodeCertificate(c)...)
	}
	return durable.Replace(path, append(all, a.PEM()...), 0o644)
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// serial is 127 random bits (RFC 5280 section 4.1.2.2: positive, at most 20 bytes).
func serial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // never fails (crypto/rand, Go 1.24)
	b[0] &= 0x7f
	return new(big.Int).SetBytes(b)
}
