package pki

import (
	"crypto"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// Identity is a site's certificate and the authorities that it trusts. It is immutable.
type Identity struct {
	name        name
	certificate tls.Certificate
	roots       *x509.CertPool
	resetKey    [32]byte
}

// NewIdentity makes an identity of PEM bytes: the site's certificate with its intermediates, its key, and the trusted
// authorities. Our own certificate must verify against them, dates excepted, so that a mix-up shows here and not at the
// peer.
func NewIdentity(certificate, key, authorities []byte) (*Identity, error) {
	chain, err := parseCertificates(certificate)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	signer, err := parseKey(key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	roots, err := parseCertificates(authorities)
	if err != nil {
		return nil, fmt.Errorf("authorities: %w", err)
	}
	if !samePublicKey(chain[0].PublicKey, signer.Public()) {
		return nil, errors.New("the key is not the certificate's")
	}
	return newIdentity(chain, signer, roots)
}

func newIdentity(chain []*x509.Certificate, signer crypto.Signer, roots []*x509.Certificate) (*Identity, error) {
	n, err := nameOf(chain[0])
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	id := &Identity{name: n, roots: x509.NewCertPool(),
		certificate: tls.Certificate{PrivateKey: signer, Leaf: chain[0]}}
	for _, c := range chain {
		id.certificate.Certificate = append(id.certificate.Certificate, c.Raw)
	}
	for _, c := range roots {
		id.roots.AddCert(c)
	}
	if _, err := id.Verify(chain, n.site, chain[0].NotAfter); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	if id.resetKey, err = resetKey(signer); err != nil {
		return nil, err
	}
	return id, nil
}

// Federation is the federation in our certificate.
func (id *Identity) Federation() string { return id.name.federation }

// Site is the site in our certificate.
func (id *Identity) Site() federation.SiteID { return id.name.site }

// SameCertificate tells whether both show the same certificate.
func (id *Identity) SameCertificate(other *Identity) bool {
	return id == other || id.certificate.Leaf.Equal(other.certificate.Leaf)
}

// NotBefore and NotAfter are the dates of our certificate.
func (id *Identity) NotBefore() time.Time { return id.certificate.Leaf.NotBefore }

// NotAfter is when our certificate ends; peers cut the link then.
func (id *Identity) NotAfter() time.Time { return id.certificate.Leaf.NotAfter }

// ResetKey is the key of QUIC's stateless resets (RFC 9000 section 10.3). It is derived from the private key, so that a
// restarted router, which has forgotten its connections, can still end them at once, and nothing more has to be kept.
func (id *Identity) ResetKey() [32]byte { return id.resetKey }

func resetKey(signer crypto.Signer) (key [32]byte, err error) {
	der, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		return key, fmt.Errorf("encode a key: %w", err)
	}
	b, err := hkdf.Key(sha256.New, der, nil, "cloudqueue stateless reset", len(key))
	if err != nil {
		return key, fmt.Errorf("derive the reset key: %w", err)
	}
	return [32]byte(b), nil
}

// TLS gives a configuration for both ends of a mutual TLS 1.3 connection without resumption. check gets the peer's
// chain, leaf first, as it was sent; nothing but the possession of the leaf's key is verified before: check must call
// Verify.
//
// VerifyConnection does it, and not VerifyPeerCertificate or crypto/tls itself: it runs in every handshake, and our
// errors, which say what is wrong and how to mend it, stay ours. InsecureSkipVerify and RequireAnyClientCert leave the
// chain to it.
func (id *Identity) TLS(protocol string, check func(chain []*x509.Certificate) error) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // a site has no DNS name; check verifies the chain and the name
		SessionTicketsDisabled: true, // each connection shows a certificate anew
		VerifyConnection:       func(cs tls.ConnectionState) error { return check(cs.PeerCertificates) },
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &id.certificate, nil },
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &id.certificate, nil
		},
	}
}
