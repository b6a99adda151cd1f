package wan

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

// drainNow drains with a bound, and waits until both sides know.
func drainNow(t *testing.T, l *Link, bound time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	err := l.Drain(ctx)
	sleep(2 * time.Second)
	return err
}

func TestDrainLosesNothing(t *testing.T) {
	for _, loss := range []float64{0, 0.02} {
		inWorld(t, 50*time.Millisecond, func(w *world) {
			ams, nyc := w.pair()
			w.net.setLoss(loss)
			sent := map[*site]*ledger{}
			for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
				sent[s] = newLedger()
				for i := range 4 {
					sent[s].copyAll(t, s.link(peer), 1, batches(t, testLane(i), 75, 1000)) // 300,000 bytes
				}
				if err := s.link(peer).Send(context.Background(), federation.Window{Lane: testLane(1), Generation: 1, Destination: federation.Destination{Site: "nyc"}, Next: 7}); err != nil {
					t.Fatal(err)
				}
			}

			if err := drainNow(t, ams.link(nyc), 20*time.Second); err != nil {
				t.Fatal(err)
			}

			for s, answers := range sent {
				counts, err := answers.tally()
				if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: 300}, counts); diff != "" || err != nil {
					t.Errorf("answers at %s: %v (-want +got):\n%s", s.name, err, diff)
				}
				copies, frames, events := s.handler.snapshot()
				if len(copies) != 300 || len(frames) != 1 {
					t.Errorf("%s got %d copies and %d frames, want 300 and 1", s.name, len(copies), len(frames))
				}
				if len(events) < 2 || events[1][:4] != "down" {
					t.Errorf("%s: %v", s.name, events)
				}
			}
		})
	}
}

// sendWindows sends control frames both ways.
func sendWindows(t *testing.T, ams, nyc *site, count int) {
	t.Helper()
	for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
		for i := range count {
			if err := s.link(peer).Send(context.Background(), federation.Window{Lane: testLane(1), Generation: 1, Destination: federation.Destination{Site: "nyc"}, Next: federation.Offset(i + 1)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (s *site) wantWindows(count int) {
	s.w.t.Helper()
	_, frames, _ := s.handler.snapshot()
	for i, f := range frames {
		if w, ok := f.(federation.Window); !ok || w.Next != federation.Offset(i+1) {
			s.w.t.Fatalf("%s: frame %d is %+v", s.name, i, f)
		}
	}
	if len(frames) != count {
		s.w.t.Errorf("%s got %d frames, want %d", s.name, len(frames), count)
	}
}

func TestTheLastControlFramesOfADrainedLinkArrive(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		for _, s := range []*site{ams, nyc} { // 3.5 s without one packet, which ends a link, are one run in ten thousand; 10 s are none
			s.cfg.DeadAfter = 10 * time.Second
		}
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)
		w.net.setLoss(0.2)
		sendWindows(t, ams, nyc, 2000)

		if err := drainNow(t, nyc.link(ams), time.Minute); err != nil {
			t.Fatal(err)
		}

		ams.wantWindows(2000)
		nyc.wantWindows(2000)
	})
}

func TestADrainOutlivesAnOutageAtEachOfItsSteps(t *testing.T) {
	for cut := time.Duration(0); cut <= 400*time.Millisecond; cut += 25 * time.Millisecond { // a drain is two round trips
		for _, asks := range []string{"ams", "nyc"} {
			t.Run(asks+" asks, cut after "+cut.String(), func(t *testing.T) {
				inWorld(t, 50*time.Millisecond, func(w *world) {
					ams, nyc := w.pair()
					link := map[string]*Link{"ams": ams.link(nyc), "nyc": nyc.link(ams)}[asks]
					sendWindows(t, ams, nyc, 100)
					go func() {
						time.Sleep(cut)
						w.net.cut(ams.host, nyc.host, true)
						time.Sleep(1500 * time.Millisecond)
						w.net.cut(ams.host, nyc.host, false)
					}()

					if err := drainNow(t, link, time.Minute); err != nil {
						t.Errorf("%v; ams: %v; nyc: %v", err, ams.handler.lastDown(), nyc.handler.lastDown())
					}

					sleep(10 * time.Second)
					ams.wantWindows(100)
					nyc.wantWindows(100)
					for s, want := range map[*site]string{ams: "drained by nyc", nyc: "drained by ams"} {
						if string(s.name) == asks {
							want = "drained"
						}
						if got := s.handler.lastDown().Error(); got != want {
							t.Errorf("%s: down with %q, want %q", s.name, got, want)
						}
					}
				})
			})
		}
	}
}

func TestBothSidesMayDrainAtOnce(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		other := make(chan error, 1)
		link := nyc.link(ams)
		go func() { other <- link.Drain(context.Background()) }()

		if err := errors.Join(drainNow(t, ams.link(nyc), 5*time.Second), <-other); err != nil {
			t.Error(err)
		}
	})
}

func TestADrainingLinkTakesNoCopiesOnEitherSideAndWaitsForAnswers(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		answers := newLedger()
		all := batches(t, testLane(1), 1, 100)
		answers.copyAll(t, ams.link(nyc), 1, all)
		sleep(time.Second)
		a, n := ams.link(nyc), nyc.link(ams)
		drained := make(chan error, 1)

		go func() { drained <- a.Drain(context.Background()) }()
		sleep(time.Minute)

		for _, l := range []*Link{a, n} {
			if err := l.Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, all[0], nil); !errors.Is(err, ErrDraining) {
				t.Errorf("Copy: %v, want ErrDraining", err)
			}
			if s := l.peer.status(); s.State != StateDraining || s.Reason == "" {
				t.Errorf("%s %q", s.State, s.Reason)
			}
		}
		nyc.handler.answers[0](federation.DupOK, 0)
		if err := <-drained; err != nil {
			t.Error(err)
		}
		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.DupOK: 1}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestADrainThatTakesTooLongClosesTheLink(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		answers := newLedger()
		answers.copyAll(t, ams.link(nyc), 1, batches(t, testLane(1), 1, 100))
		began := time.Now()

		err := drainNow(t, ams.link(nyc), 5*time.Second)

		if d := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || d != 7*time.Second {
			t.Errorf("%v after %s", err, d)
		}
		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.LinkLost: 1}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestADrainedEndpointMakesNoNewLink(t *testing.T) {
	for _, name := range []string{"the accepting side", "the dialling side"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 50*time.Millisecond, func(w *world) {
				ams, nyc := w.pair()
				drained, other := nyc, ams
				if name == "the dialling side" {
					drained, other = ams, nyc
				}

				if err := drained.endpoint.Drain(context.Background()); err != nil {
					t.Fatal(err)
				}
				sleep(time.Minute)

				if s := other.status(drained); s.State != StateDown || s.Reason == "" {
					t.Errorf("%s %q", s.State, s.Reason)
				}
				for _, s := range []*site{drained, other} {
					if ups, downs := s.handler.counts(); ups != 1 || downs != 1 {
						t.Errorf("%s: up %d times, down %d times", s.name, ups, downs)
					}
				}
			})
		})
	}
}

func TestADialToADrainedEndpointHearsWhy(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		if err := nyc.endpoint.Drain(context.Background()); err != nil {
			t.Fatal(err)
		}
		sleep(time.Minute)

		if s := ams.status(nyc); s.Reason != "nyc refused us with FULL: nyc is stopping" {
			t.Errorf("%s %q", s.State, s.Reason)
		}
	})
}
