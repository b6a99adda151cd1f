package wan

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// A certificate is refused within the handshake, by the side that dials or by the one that accepts:
//
//	          dials                                    accepts
//	refuses   clientTLS counts and shows               serverTLS counts and shows (quic-go tells nobody of a handshake that failed)
//	is told   the attempt fails with a TLS alert       the place of the connection ends with a TLS alert, which says only where it came from
//
// Both are counted for the endpoint and for the peer, and both are the reason that status gives for the link.

// RefusedOurs is what the refusals of our certificate are counted as (Endpoint.Refused, LinkStatus.Refused); those of
// peers' have pki's reasons.
const RefusedOurs = "refused-our-certificate"

// serverTLS verifies whoever comes in with the identity of the moment.
func (e *Endpoint) serverTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{alpn},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			id := e.cfg.Identity()
			guestOf(hello.Context()).shown.Store(id)
			remote := hostOf(hello.Conn.RemoteAddr()).String()
			return id.TLS(alpn, func(chain []*x509.Certificate) error {
				_, err := id.Verify(chain, "", time.Now())
				if err != nil {
					e.refuseCertificate(err, remote)
				}
				return err
			}), nil
		},
	}
}

// clientTLS verifies that a peer is at the address that we dial. The attempt's error shows a refusal; here it is
// counted.
func (e *Endpoint) clientTLS(id *pki.Identity, peer federation.SiteID, to net.Addr) *tls.Config {
	return id.TLS(alpn, func(chain []*x509.Certificate) error {
		_, err := id.Verify(chain, peer, time.Now())
		if r := (*pki.RefusedError)(nil); errors.As(err, &r) {
			e.countRefusal(string(r.Reason), peer, to.String(), r.Detail)
		}
		return err
	})
}

// refuseCertificate counts and shows a certificate that came in and was refused. What it claims is not proven: it is
// shown, and changes nothing.
func (e *Endpoint) refuseCertificate(err error, remote string) {
	var r *pki.RefusedError
	if !errors.As(err, &r) {
		return
	}
	e.refused.addOf(string(r.Reason), remote+": "+r.Detail)
	e.logger.Debug("certificate refused", "site", e.cfg.Site, "peer", r.Claimed, "remote", remote, "reason", r.Reason,
		"err", r)
	if p := e.peer(r.Claimed); p != nil {
		p.sawRefusal(r, remote)
	}
}

// refusesOurs gives the TLS alert with which the other side refused our certificate (RFC 8446 section 6.2: 42 to 46 and
// 48, of certificates; RFC 9001 section 4.8 adds 0x100). A router of ours sends 42.
func refusesOurs(err error) *quic.TransportError {
	const alerts, badCertificate, certificateUnknown, unknownCA = 0x100, 42, 46, 48
	var t *quic.TransportError
	if !errors.As(err, &t) || !t.Remote || !t.ErrorCode.IsCryptoError() {
		return nil
	}
	if alert := t.ErrorCode - alerts; alert >= badCertificate && alert <= certificateUnknown || alert == unknownCA {
		return t
	}
	return nil
}

// countRefusedOurs counts an attempt of ours that ended because the peer refused our certificate.
func (e *Endpoint) countRefusedOurs(err error, p *peer) {
	if alert := refusesOurs(err); alert != nil {
		detail := fmt.Sprintf("dialled %s: %s", p.site, alert.ErrorCode)
		e.refused.addOf(RefusedOurs, detail)
		p.refused.addOf(RefusedOurs, detail)
	}
}

// handshakeFailed counts and shows that a router which dialled us from a host refused our certificate. Nothing proves
// whose it is: every peer that it may be shows it.
func (e *Endpoint) handshakeFailed(host netip.Addr, err error) {
	alert := refusesOurs(err)
	if alert == nil {
		return
	}
	detail := fmt.Sprintf("%s: %s", host, alert.ErrorCode)
	e.refused.addOf(RefusedOurs, detail)
	for _, p := range e.suspects(host) {
		p.refused.addOf(RefusedOurs, detail)
		_, fix := refusedByPeer(alert, e.cfg.Site, p.site)
		p.sawNoLink(fmt.Sprintf("a router at %s refused our certificate (%s); it may be that of %s", host,
			alert.ErrorCode, p.site), fix)
	}
}

// suspects are the peers that a router at host may be: those without a link that have no address, or that one. Several
// sites may be behind one host.
func (e *Endpoint) suspects(host netip.Addr) []*peer {
	return slices.DeleteFunc(e.all(), func(p *peer) bool {
		hosts, linked := p.hosts()
		return linked || len(hosts) > 0 && !slices.Contains(hosts, host)
	})
}

// hosts are the addresses of a peer that need no name service. Who has a name there is dialled, and hears of a refusal
// so.
func (p *peer) hosts() (all []netip.Addr, linked bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range p.entry.Addresses {
		if a, err := netip.ParseAddrPort(address); err == nil {
			all = append(all, a.Addr().Unmap())
		}
	}
	return all, p.link != nil
}
