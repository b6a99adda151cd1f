package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// Peer is a verified peer.
type Peer struct {
	Site federation.SiteID
	// NotAfter is when the first certificate of its chain ends, the authority's included.
	NotAfter time.Time
}

// Reason says in one word why a certificate is refused; refusals are counted by it.
type Reason string

// Reasons to refuse a certificate.
const (
	NoCertificate    Reason = "no-certificate"
	NoSiteName       Reason = "no-site-name"
	UnknownAuthority Reason = "unknown-authority"
	Expired          Reason = "certificate-expired"
	NotYetValid      Reason = "certificate-not-yet-valid"
	BadCertificate   Reason = "bad-certificate"
	WrongFederation  Reason = "wrong-federation"
	WrongSite        Reason = "wrong-site"
)

// RefusedError says why a peer's certificate is not accepted, and what mends it.
type RefusedError struct {
	Reason  Reason
	Claimed federation.SiteID // what the certificate says; not proven
	Detail  string
	Fix     string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("certificate refused: %s", e.Detail) }

// Verify checks a peer's chain, leaf first: signed by one of our authorities for both sides of a connection, within its
// dates at now, naming exactly one site of our federation, and that site is want unless want is empty. The error is a
// *RefusedError.
func (id *Identity) Verify(chain []*x509.Certificate, want federation.SiteID, now time.Time) (Peer, error) {
	if len(chain) == 0 {
		return Peer{}, &RefusedError{Reason: NoCertificate, Detail: "the peer showed none",
			Fix: "give the peer a certificate: cloudqueue pki issue"}
	}
	n, err := nameOf(chain[0])
	if err != nil {
		return Peer{}, &RefusedError{Reason: NoSiteName, Detail: err.Error(),
			Fix: "issue the peer's certificate with cloudqueue pki issue"}
	}
	end, err := id.verifyChain(chain, now)
	if err != nil {
		return Peer{}, refused(err, chain[0], n, now)
	}
	if n.federation != id.name.federation {
		return Peer{}, &RefusedError{WrongFederation, n.site,
			fmt.Sprintf("%s is of federation %q, not of %q", n, n.federation, id.name.federation),
			"link sites of one federation only"}
	}
	if want != "" && n.site != want {
		return Peer{}, &RefusedError{WrongSite, n.site, fmt.Sprintf("the peer is site %q, not %q", n.site, want),
			fmt.Sprintf("correct the address of %s in the topology, or issue that router a certificate for %s", want,
				want)}
	}
	return Peer{n.site, end}, nil
}

// nameOf reads the one name of a leaf.
func nameOf(leaf *x509.Certificate) (name, error) {
	if len(leaf.URIs) != 1 {
		return name{}, fmt.Errorf("it names %d sites in URI SANs, not one", len(leaf.URIs))
	}
	return parseName(leaf.URIs[0])
}

// verifyChain gives the end of the longest-lived chain to one of our authorities.
func (id *Identity) verifyChain(chain []*x509.Certificate, now time.Time) (time.Time, error) {
	options := x509.VerifyOptions{Roots: id.roots, Intermediates: x509.NewCertPool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	for _, c := range chain[1:] {
		options.Intermediates.AddCert(c)
	}
	chains, err := chain[0].Verify(options)
	if err != nil {
		return time.Time{}, err
	}
	var end time.Time
	for _, c := range chains {
		if e := firstEnd(c); e.After(end) {
			end = e
		}
	}
	return end, usages(chain[0])
}

// usages requires both extended key usages: every site dials and accepts.
func usages(leaf *x509.Certificate) error {
	var client, server bool
	for _, u := range leaf.ExtKeyUsage {
		client = client || u == x509.ExtKeyUsageClientAuth
		server = server || u == x509.ExtKeyUsageServerAuth
	}
	if !client || !server {
		return errors.New("it is not for client and server authentication")
	}
	return nil
}

func firstEnd(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// refused turns what crypto/x509 says into what an admin can act on.
func refused(err error, leaf *x509.Certificate, n name, now time.Time) *RefusedError {
	var invalid x509.CertificateInvalidError
	dates := errors.As(err, &invalid) && invalid.Reason == x509.Expired
	var unknown x509.UnknownAuthorityError
	switch {
	case dates && now.Before(leaf.NotBefore):
		return &RefusedError{NotYetValid, n.site, fmt.Sprintf(
			"%s begins at %s, it is %s here", n, stamp(leaf.NotBefore), stamp(now)), "set the clocks of both sites"}
	case dates:
		return &RefusedError{Expired, n.site, fmt.Sprintf(
			"%s or its authority has ended (the certificate at %s), it is %s here", n, stamp(leaf.NotAfter),
			stamp(now)),
			fmt.Sprintf("cloudqueue pki issue %s", n.site)}
	case errors.As(err, &unknown):
		return &RefusedError{UnknownAuthority, n.site, fmt.Sprintf("%s is not signed by an authority that we trust", n),
			"give both sites the same ca.crt (several authorities may stand in it one after the other)"}
	default:
		return &RefusedError{BadCertificate, n.site, fmt.Sprintf("%s: %v", n, err),
			fmt.Sprintf("cloudqueue pki issue %s", n.site)}
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
