package site_test

import (
	"context"
	"crypto/x509"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"cloudqueue/router/admin"
	"cloudqueue/wan/halfdeaf"
	"cloudqueue/wan/pki"
)

// dialHalves begins handshakes from one host and does not go on with them until the test's end.
func (w *world) dialHalves(t *testing.T, host string, count int, to *member) {
	t.Helper()
	certificate, key, err := w.ca.Issue("ams", time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := pki.NewIdentity(certificate, key, w.ca.PEM())
	if err != nil {
		t.Fatal(err)
	}
	s, err := net.ListenPacket("udp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &quic.Transport{Conn: halfdeaf.Socket{PacketConn: s}}
	ctx, cancel := context.WithCancel(context.Background())
	var dials sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		dials.Wait()
		tr.Close()
		s.Close()
	})
	for range count {
		dials.Go(func() {
			tr.Dial(ctx, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: to.port}, identity.TLS("cloudqueue/1", func([]*x509.Certificate) error { return nil }),
				&quic.Config{HandshakeIdleTimeout: time.Minute})
		})
	}
}

func TestHalfOpenConnectionsAreRefusedBeyondTheHostsLimitAndStandInStatus(t *testing.T) {
	w, nyc, sin := besieged(t)
	const places, dialled = 32, 100
	w.dialHalves(t, "127.9.9.9", dialled, nyc)

	most := 0
	eventually(t, "what is over the limit is refused, and the others are seen", func() bool {
		most = max(most, nyc.status().Listener.HalfOpen)
		return nyc.refused("connection", "half-open") >= dialled-places && most > 0
	})
	if most > places {
		t.Errorf("%d half-open connections of one host, at most %d are allowed", most, places)
	}
	for _, r := range nyc.status().Refused {
		if r.Reason == "half-open" && (r.Detail != "127.9.9.9" || r.Fix == "") {
			t.Errorf("the last one is of %q, with the mend %q", r.Detail, r.Fix)
		}
	}
	if l := nyc.linkTo("sin"); l.State != admin.Running {
		t.Errorf("the honest link is %s: %s", l.State, l.Reason)
	}
	unharmed(t, sin, nyc)
}
