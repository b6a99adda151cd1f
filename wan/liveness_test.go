package wan

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

func TestAPartitionEndsTheLinkOnBothSidesAndItHeals(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		answers := newLedger()
		answers.copyAll(t, ams.link(nyc), 1, batches(t, testLane(1), 20, 1000))
		sleep(time.Second)

		w.net.cut(ams.host, nyc.host, true)
		sleep(2400 * time.Millisecond) // the last heartbeat came up to 1.1 s before the cut
		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer).State; got != StateRunning {
				t.Errorf("%s after 2.4 s: %s", s.name, got)
			}
		}
		sleep(2600 * time.Millisecond) // and every half second is looked
		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer); got.State != StateDown || got.Reason == "" {
				t.Errorf("%s after 5 s: %s %q", s.name, got.State, got.Reason)
			}
		}
		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.LinkLost: 20}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}

		sleep(25 * time.Second)
		w.net.cut(ams.host, nyc.host, false)
		sleep(10 * time.Second) // the longest pause, and an attempt before it

		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer).State; got != StateRunning {
				t.Errorf("%s after healing: %s", s.name, got)
			}
			_, _, events := s.handler.snapshot()
			want := []string{"up " + string(peer.name), "down " + string(peer.name), "up " + string(peer.name)}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.name, diff)
			}
		}
	})
}

func TestAOneWayPartitionEndsTheLinkOnBothSides(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()

		w.net.cutOneWay(ams.host, nyc.host, true)
		sleep(5 * time.Second)

		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer).State; got != StateDown {
				t.Errorf("%s: %s", s.name, got)
			}
		}
	})
}

func TestALateAnswerOnADeadLinkDoesNothing(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		answers := newLedger()
		answers.copyAll(t, ams.link(nyc), 1, batches(t, testLane(1), 3, 1000))
		sleep(time.Second)
		ams.link(nyc).Close("test")
		sleep(time.Second)

		for _, answer := range nyc.handler.answers {
			answer(federation.OK, 0)
		}
		sleep(time.Second)

		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.LinkLost: 3}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestASilentPeerIsCut(t *testing.T) {
	for name, begin := range map[string]func(r *rogue){
		"nothing comes": func(r *rogue) {},
		"a control frame comes byte by byte": func(r *rogue) {
			b := encode(r.w.t, federation.Heartbeat{Sent: time.UnixMilli(1)})
			for i := range b {
				time.Sleep(200 * time.Millisecond)
				if _, err := r.control.Write(b[i : i+1]); err != nil {
					return
				}
			}
		},
		"only copies come": func(r *rogue) {
			s := r.openData()
			for i := uint64(1); ; i++ {
				time.Sleep(200 * time.Millisecond)
				b, _ := federation.AppendFrame(nil, federation.Copy{Number: i, Batch: []byte("x")})
				if _, err := s.Write(b); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)
				began := time.Now()
				go begin(r)

				got := r.closed(5 * time.Second)

				if d := time.Since(began); code(got.ErrorCode) != codeDead || d < 3*time.Second || d > 4*time.Second {
					t.Errorf("closed after %s with %v, want 3 to 4 s", d, got)
				}
				sleep(time.Second)
			})
		})
	}
}

func TestAPeerThatNeverReadsIsCut(t *testing.T) {
	for name, echo := range map[string]time.Time{"no echo": {}, "the same echo for ever": time.UnixMilli(1)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
				r := w.rogue("ams", "10.0.0.1").connect(nyc)
				began := time.Now()
				go func() {
					for r.qc.Context().Err() == nil {
						b, _ := federation.AppendFrame(nil, federation.Heartbeat{Sent: time.Now().Truncate(time.Millisecond), Echo: echo})
						r.control.Write(b)
						time.Sleep(time.Second)
					}
				}()

				got := r.closed(10 * time.Second)

				if d := time.Since(began); code(got.ErrorCode) != codeDead || d < 6500*time.Millisecond || d > 7500*time.Millisecond {
					t.Errorf("closed after %s with %v, want 7 s", d, got)
				}
				sleep(time.Second)
			})
		})
	}
}

func TestAPeerThatReadsNoCopiesIsShownAsStalledAndTakesBoundedMemory(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1").connect(nyc)
		go r.beat()
		link := nyc.endpoint.peer("ams").current()
		all := batches(t, testLane(1), 1, 100<<10)
		before := heap()

		accepted := 0
		go func() {
			for {
				if link.Copy(context.Background(), 1, testLane(1), federation.Sidecar{}, all[0], func(federation.Verdict, time.Duration) {}) != nil {
					return
				}
				accepted++
			}
		}()
		sleep(15 * time.Second)

		if accepted > 12 { // 1 MiB in the queue, 64 KiB in the peer's window
			t.Errorf("%d batches of 100 KiB were taken", accepted)
		}
		if grown := heap() - before; grown > 4<<20 {
			t.Errorf("memory grew by %d KiB", grown>>10)
		}
		s := nyc.endpoint.Status()[0]
		if s.State != StateStalled || !strings.Contains(s.Reason, "wait for ams") || s.Unanswered != uint64(accepted) {
			t.Errorf("%s, %q, %d unanswered of %d", s.State, s.Reason, s.Unanswered, accepted)
		}
		if s.Fix != "see the lanes that the link carries; cloudqueue status at ams says what holds them there" {
			t.Errorf("to do: %q", s.Fix)
		}
		link.Close("test")
		sleep(time.Second)
	})
}

func TestARestartedPeerIsNoticedByItsStatelessReset(t *testing.T) {
	inWorld(t, 50*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		sleep(10 * time.Second)
		// The process dies: what it would still say does not come through.
		w.net.cutOneWay(nyc.host, ams.host, true)
		nyc.stop()
		w.net.cutOneWay(nyc.host, ams.host, false)
		hello := nyc.cfg.Hello()
		hello.Boot, hello.Epoch = federation.BootID{2, 'n'}, 2
		nyc.cfg.Hello = func() federation.Hello { return hello }

		nyc.start(ams.passive())
		sleep(2500 * time.Millisecond) // a heartbeat, a round trip, a first pause

		if s := ams.status(nyc); s.State != StateRunning || s.Hello.Epoch != 2 {
			t.Errorf("%s %q, epoch %d; want running with epoch 2", s.State, s.Reason, s.Hello.Epoch)
		}
		if err := ams.handler.lastDown(); !strings.Contains(err.Error(), "stateless reset") {
			t.Errorf("down with %v, want a stateless reset", err)
		}
	})
}

func TestLossAndDelayDoNotEndALink(t *testing.T) {
	inWorld(t, 100*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		w.net.setLoss(0.05)
		answers := newLedger()
		for i := range 60 {
			answers.copyAll(t, ams.link(nyc), 1, batches(t, testLane(i), 2, 5000))
			sleep(time.Second)
		}
		sleep(10 * time.Second)

		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: 120}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
		if _, downs := ams.handler.counts(); downs != 0 {
			t.Errorf("the link was down %d times: %v", downs, ams.handler.downs)
		}
	})
}
