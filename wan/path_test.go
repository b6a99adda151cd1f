package wan

import (
	"context"
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestWindowsDoNotLimitALongPath(t *testing.T) {
	inWorld(t, 200*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		link, batch := ams.link(nyc), batches(t, testLane(1), 1, 1<<20)[0]
		send := func(count int) time.Duration { // until all are answered
			began := time.Now()
			answered := make(chan struct{}, count)
			for range count {
				if err := link.Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, batch, func(federation.Verdict, time.Duration) { answered <- struct{}{} }); err != nil {
					t.Fatal(err)
				}
			}
			for range count {
				<-answered
			}
			return time.Since(began)
		}
		send(64) // until the congestion window is open

		d := min(send(24), send(24), send(24)) // a spurious loss may halve the congestion window once

		// One stream with quic-go's own window of 6 MiB takes 2.1 s.
		if d > 1800*time.Millisecond {
			t.Errorf("24 MiB took %s at a round trip of 400 ms", d)
		}
		link.Close("test")
		sleep(time.Second)
	})
}

func TestPausesHaveFullJitterAndABound(t *testing.T) {
	w := newWorld(t, 0)
	s := w.site("ams", "10.0.0.1")
	s.cfg.Conn = w.net.listen(s.host)
	e, err := New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		failures int
		bound    time.Duration
	}{{1, 500 * time.Millisecond}, {2, time.Second}, {4, 4 * time.Second}, {5, 5 * time.Second}, {1000, 5 * time.Second}} {
		var least, most time.Duration = time.Hour, 0
		for range 1000 {
			d := e.pause(c.failures)
			least, most = min(least, d), max(most, d)
		}
		if least > c.bound/20 || most > c.bound || most < c.bound*19/20 {
			t.Errorf("after %d failures: %s to %s, want 0 to %s", c.failures, least, most, c.bound)
		}
	}
}

func TestALinkThatWasNeverTriedIsStarting(t *testing.T) {
	w := newWorld(t, 0)
	s := w.site("ams", "10.0.0.1")
	s.cfg.Conn = w.net.listen(s.host)
	e, err := New(s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.SetPeers([]Peer{{Site: "sin", Dial: true, Addresses: []string{"sin:1"}}, {Site: "nyc"}})

	all := e.Status()

	if len(all) != 2 || all[0].Peer != "nyc" || all[0].State != StateStarting || all[1].State != StateStarting {
		t.Errorf("got %+v", all)
	}
	if all[0].Reason != "nyc has not dialled this site yet" || all[0].Fix != "when this lasts: cloudqueue status at nyc" || all[1].Reason != "" {
		t.Errorf("got %+v", all)
	}
}

func TestALostLinkIsRedialledFast(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		sleep(steadyAfter)

		ams.link(nyc).Close("test")
		sleep(time.Second) // a pause of at most 0.5 s, and five round trips

		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer); got.State != StateRunning {
				t.Errorf("%s: %s %q", s.name, got.State, got.Reason)
			}
		}
	})
}
