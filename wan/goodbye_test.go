package wan

import (
	"context"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

func TestAPeerThatStoppedCleanlyIsSaidToHaveStopped(t *testing.T) {
	for _, dialling := range []string{"ams", "nyc"} {
		t.Run(dialling+" dials", func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
				peers := map[string][2]Peer{"ams": {nyc.peer(), ams.passive()}, "nyc": {nyc.passive(), ams.peer()}}[dialling]
				ams.start(peers[0])
				nyc.start(peers[1])
				sleep(15 * time.Second) // nyc leaves the dialling to ams for 10 s

				if err := nyc.endpoint.Drain(context.Background()); err != nil {
					t.Fatal(err)
				}
				nyc.stop()
				sleep(time.Minute) // of redialling, on the side that dials

				s := ams.status(nyc)
				if s.State != StateDown || s.Reason != "nyc stopped cleanly; waiting for it" || s.Fix != "start the router of nyc again if it shall run" {
					t.Errorf("state %s, reason %q, fix %q", s.State, s.Reason, s.Fix)
				}
			})
		})
	}
}

func TestAPeerThatTakesItsTimeToStopIsSaidToHaveStoppedInTheEnd(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		if err := nyc.endpoint.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		sleep(time.Minute)
		if s := ams.status(nyc); s.Reason != "nyc refused us with FULL: nyc is stopping" {
			t.Errorf("while it stops: %s %q", s.State, s.Reason)
		}

		nyc.stop()
		sleep(time.Minute)

		if s := ams.status(nyc); s.State != StateDown || s.Reason != "nyc stopped cleanly; waiting for it" {
			t.Errorf("state %s, reason %q", s.State, s.Reason)
		}
	})
}

func TestAPeerThatStoppedAndIsBackIsNotSaidToHaveStopped(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		if err := nyc.endpoint.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		nyc.stop()
		nyc.handler.set(func(r *recorder) { r.greeting = federation.Full })
		nyc.start(ams.passive())
		sleep(20 * time.Second)
		if s := ams.status(nyc); s.Reason != "nyc refused us with FULL: as the test wants" {
			t.Errorf("it is back: %s %q", s.State, s.Reason)
		}

		nyc.stop() // it dies
		sleep(time.Minute)

		if s := ams.status(nyc); s.State != StateDown || s.Reason != "no answer from nyc" {
			t.Errorf("state %s, reason %q", s.State, s.Reason)
		}
	})
}

func TestAHandOverIsNotShownAsAStop(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		a := ams.changing(w.identity(w.authority, "ams", time.Hour))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(15 * time.Second)
		a.Store(w.identity(w.authority, "ams", time.Hour))

		said := map[string]bool{}
		for range 30_000 {
			if s := nyc.status(ams); s.State == StateDown {
				said[s.Reason] = true
			}
			sleep(time.Millisecond)
		}

		if diff := cmp.Diff(map[string]bool{"ams dials a new link, since a certificate was renewed": true}, said); diff != "" {
			t.Errorf("what nyc said between the links (-want +got):\n%s", diff)
		}
		if s := nyc.status(ams); s.State != StateRunning || s.Reason != "" {
			t.Errorf("in the end: %s %q", s.State, s.Reason)
		}
	})
}
