package wan

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

// The tests in this file use real sockets and real time: what only exists there (segmentation offload, path MTU discovery, the kernel's buffers) must work too. They
// wait for what happens, up to a bound that says only that it never will.

func (s *site) onLoopback(peers ...Peer) *site {
	s.w.t.Helper()
	s.cfg.Listen = "127.0.0.1:0"
	return s.start(peers...)
}

func (s *site) loopbackPeer() Peer {
	return Peer{Site: s.name, Addresses: []string{"localhost:" + s.port()}, Dial: true}
}

func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.endpoint.Addr().String())
	return port
}

// await waits until a condition holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// loopbackPair gives two linked sites on real sockets.
func loopbackPair(t testing.TB) (ams, nyc *site) {
	t.Helper()
	w := newWorld(t, 0)
	ams, nyc = w.site("ams", ""), w.site("nyc", "")
	nyc.onLoopback(ams.passive())
	ams.onLoopback(nyc.loopbackPeer())
	await(t, "the link comes up", func() bool {
		return len(ams.status(nyc).Connections) == 2 && len(nyc.status(ams).Connections) == 2
	})
	return ams, nyc
}

func TestBatchesCrossRealSockets(t *testing.T) {
	ams, nyc := loopbackPair(t)
	answers := newLedger()
	for i := range 8 {
		answers.copyAll(t, ams.link(nyc), uint8(i%3), batches(t, testLane(i), 4, 1<<20))
	}
	await(t, "all are answered", func() bool { return ams.status(nyc).Verdicts["OK"] == 32 })

	if err := ams.endpoint.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	counts, err := answers.tally()
	if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: 32}, counts); diff != "" || err != nil {
		t.Errorf("answers: %v (-want +got):\n%s", err, diff)
	}
}

func TestARestartIsNoticedOnRealSockets(t *testing.T) {
	ams, nyc := loopbackPair(t)
	port := nyc.port()
	// kill -9: the socket is gone before anything could be said.
	nyc.endpoint.socket.Close()
	<-nyc.stopped
	nyc.stopped <- nil
	nyc.cfg.Listen = "127.0.0.1:" + port
	nyc.start(ams.passive())

	await(t, "the link is up again", func() bool { ups, _ := ams.handler.counts(); return ups == 2 })

	if err := ams.handler.lastDown(); err == nil || !strings.Contains(err.Error(), "stateless reset") {
		t.Errorf("down with %v, want a stateless reset", err)
	}
}

func TestAnAddressThatIsInUseIsAnError(t *testing.T) {
	w := newWorld(t, 0)
	nyc := w.site("nyc", "").onLoopback()
	sin := w.site("sin", "")
	sin.cfg.Listen = "127.0.0.1:" + nyc.port()

	if _, err := New(sin.cfg); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
}

func TestNewSaysEverythingThatIsWrong(t *testing.T) {
	_, err := New(Config{MaxBatch: -1})
	if err == nil {
		t.Fatal("an empty configuration was taken")
	}
	for _, want := range []string{"Federation", "Site", "Identity", "Hello", "Handler", "Listen", "MaxBatch"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say what is wrong with %s", err, want)
		}
	}
	w := newWorld(t, 0)
	s := w.site("ams", "")
	s.cfg.Listen, s.cfg.Site = "127.0.0.1:0", "nyc"
	if _, err := New(s.cfg); err == nil || !strings.Contains(err.Error(), `the certificate is for site "ams"`) {
		t.Errorf("another site's certificate: %v", err)
	}
}
