package wan

import (
	"context"
	"time"

	"cloudqueue/federation"
)

// A certificate that is renewed loses no frame and pauses its lanes for some round trips. A QUIC connection keeps the
// certificates of its handshake (TLS 1.3 has no way to show another one) and is cut when one of them ends. So, as soon
// as either side uses another certificate, the dialling side
//
//	dials connection 1 anew      the old one finishes what was begun on it (retire). When either side refuses the other's certificate, this is all that
//	                             happens: the link goes on as it is, and status says why
//	then dials the link anew     after a drain, which loses nothing; its lanes pause for some five round trips
//
// The accepting side tells in its heartbeats that its certificate is another one than that of the connection.

// tagRenewed is the extension of a HEARTBEAT that says so. It has no value.
const tagRenewed = 2

// renewEvery is the least time between two renewals (chosen: as often as pki.Files looks; a peer that asks without end
// costs one handshake in it).
const renewEvery = 10 * time.Second

// finishWithin bounds how long a connection that has a successor finishes its frames, and the drain of a link for the
// sake of a renewal (chosen: lanes wait meanwhile, and what is unanswered then is only sent again).
const finishWithin = 10 * time.Second

// outdated tells whether one side has another certificate than that of this connection.
func (c *conn) outdated() bool { return c.theirsRenewed.Load() || c.oursRenewed() }

func (c *conn) oursRenewed() bool { return !c.ours.SameCertificate(c.link.peer.e.cfg.Identity()) }

// noteRenewal looks for the peer's word in a heartbeat.
func (c *conn) noteRenewal(h federation.Heartbeat) {
	if extended(h.Extensions, tagRenewed) {
		c.theirsRenewed.Store(true)
	}
}

// renewal is what the dialling side has to do.
type renewal int

const (
	renewNothing renewal = iota
	renewSecond
	renewLink
)

// renewal decides it. Connection 1 goes first: only when it is younger than the change have the certificates been
// tried. It is keepSecond's.
func (l *Link) renewal() renewal {
	l.mu.Lock()
	second := l.second
	l.mu.Unlock()
	if second == nil {
		return renewNothing // it is dialled anyway
	}
	if l.outdatedSince.IsZero() && l.first.outdated() {
		l.outdatedSince = time.Now()
	}
	tried := !second.since.Before(l.outdatedSince) && !second.outdated()
	switch {
	case l.outdatedSince.IsZero() && !second.outdated():
		return renewNothing
	case !tried && time.Since(second.since) >= renewEvery:
		return renewSecond
	case tried && !l.outdatedSince.IsZero() && time.Since(l.since) >= renewEvery:
		return renewLink
	}
	return renewNothing
}

// handOver ends the link for the next one, which is dialled at once.
func (l *Link) handOver() {
	l.peer.expectSuccessor()
	l.peer.e.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), finishWithin)
		defer cancel()
		if err := l.drainFor(ctx, federation.Drain{Reason: "a certificate was renewed",
			Extensions: []federation.TLV{{Tag: tagFollows}}}); err != nil {
			l.peer.e.logger.Warn("link not drained", "site", l.peer.e.cfg.Site, "peer", l.peer.site, "err", err)
		}
	})
}

// retire lets a connection 1 that has a successor finish: no frame begins on it at either side. The dialling side ends
// it when everything is answered, both ways, and has been for two heartbeats; the accepting one only when that takes
// too long.
func (l *Link) retire(c *conn) {
	cfg := &l.peer.e.cfg
	bound := finishWithin
	if !l.dialled {
		bound *= 2
	}
	deadline, tick := time.NewTimer(bound), time.NewTicker(cfg.Heartbeat)
	defer deadline.Stop()
	defer tick.Stop()
	for idle := 0; idle < 2; {
		select {
		case <-c.qc.Context().Done():
			return
		case <-deadline.C:
			idle = 2
		case <-tick.C:
			if idle++; !l.dialled || !c.idle() {
				idle = 0
			}
		}
	}
	c.end(&closeError{codeDone, "", "replaced by a newer connection"})
}

// idle tells whether nothing that was begun on the connection waits for an answer, of either side.
func (c *conn) idle() bool {
	_, unanswered := c.load()
	return unanswered == 0 && c.owed.Load() == 0
}
