package wan

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

func TestAPeerThatIsRemovedAndAddedAgainComesUpAfterItsOldLinkIsDown(t *testing.T) {
	for _, name := range []string{"ams", "nyc"} {
		t.Run("at "+name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.pair()
				changed, entry := ams, nyc.peer()
				if name == "nyc" {
					changed, entry = nyc, ams.passive()
				}
				changed.handler.set(func(r *recorder) { r.ending = func() { time.Sleep(3 * time.Second) } })

				for range 2 {
					changed.endpoint.SetPeers(nil)
					changed.endpoint.SetPeers([]Peer{entry})
				}
				sleep(time.Minute)

				peer := string(entry.Site)
				_, _, events := changed.handler.snapshot()
				if diff := cmp.Diff([]string{"up " + peer, "down " + peer, "up " + peer}, events); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestADownThatHangsHoldsUpNoHandshakeForEver(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		hangs := make(chan struct{})
		nyc.handler.set(func(r *recorder) { r.ending = func() { <-hangs } })
		successor := w.site("ams", "10.0.0.9")
		hello := successor.cfg.Hello()
		hello.Boot, hello.Epoch = federation.BootID{2}, 2
		successor.cfg.Hello = func() federation.Hello { return hello }
		ams.stop()

		successor.start(nyc.peer())
		sleep(30 * time.Second)

		if s := successor.status(nyc); s.State != StateDown || !strings.Contains(s.Reason, "the link before it has not ended") {
			t.Errorf("%s %q", s.State, s.Reason)
		}
		close(hangs)
		sleep(10 * time.Second)
		if s := successor.status(nyc); s.State != StateRunning {
			t.Errorf("after the end: %s %q", s.State, s.Reason)
		}
	})
}

func TestADrainThatIsOutOfTimeDoesNotWaitForADownThatHangs(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		hangs := make(chan struct{})
		ams.handler.set(func(r *recorder) { r.ending = func() { <-hangs } })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		drained := make(chan error, 1)
		link := ams.link(nyc)
		go func() { drained <- link.Drain(ctx) }()

		select {
		case err := <-drained:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that it was not in time", err)
			}
		case <-time.After(time.Minute):
			t.Error("it still waits after a minute")
		}
		close(hangs)
		sleep(time.Second)
	})
}
