package wan

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"
)

// heartbeat is at least 64 bytes on the wire: a smaller packet to a peer that was restarted draws no stateless reset
// (docs/decisions.md, M6).
func (c *conn) heartbeat() federation.Heartbeat {
	h := federation.Heartbeat{Sent: time.Now().Truncate(time.Millisecond), Backlog: c.link.backlog()}
	if ms := c.echo.Load(); ms != 0 {
		h.Echo = time.UnixMilli(ms)
	}
	if c.oursRenewed() {
		h.Extensions = []federation.TLV{{Tag: tagRenewed}}
	}
	return h
}

// heardBeat notes a heartbeat. An echo that moves shows that the peer reads what we send; which time it tells does not
// matter, so that a clock that is set does no harm.
func (c *conn) heardBeat(h federation.Heartbeat) {
	c.noteRenewal(h)
	c.echo.Store(h.Sent.UnixMilli())
	if !h.Echo.IsZero() && c.seen.Swap(h.Echo.UnixMilli()) != h.Echo.UnixMilli() {
		c.echoed.Store(c.clock())
	}
}

// look ends a connection whose peer is silent, does not read, or may not be here any more.
func (c *conn) look() error {
	cfg := &c.link.peer.e.cfg
	switch {
	case c.silence() >= cfg.DeadAfter:
		return &closeError{codeDead, "", fmt.Sprintf("nothing heard from %s for %s", c.link.peer.site, cfg.DeadAfter)}
	case c.unread() >= 2*cfg.DeadAfter:
		return &closeError{codeDead, "", fmt.Sprintf(
			"%s has not read the control stream for %s", c.link.peer.site, 2*cfg.DeadAfter)}
	}
	return c.identity.check(cfg.Identity(), c.link.peer.site)
}

// identityCheck verifies a live connection's certificate: its end, and again with every change of our own identity (the
// authorities may have changed).
type identityCheck struct {
	chain []*x509.Certificate
	by    *pki.Identity // that verified it last
	until time.Time
}

func (i *identityCheck) check(id *pki.Identity, site federation.SiteID) error {
	now := time.Now()
	if i.by == id && now.Before(i.until) {
		return nil
	}
	peer, err := id.Verify(i.chain, site, now)
	if err == nil {
		i.by, i.until = id, peer.NotAfter
		return nil
	}
	reason := string(pki.BadCertificate)
	if r := (*pki.RefusedError)(nil); errors.As(err, &r) {
		reason = string(r.Reason)
	}
	return &closeError{codeCertificate, reason, err.Error()}
}
