package wan

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/wan/pki"

	"github.com/google/go-cmp/cmp"
)

// changing gives a site an identity that can be replaced, as pki.Files does.
func (s *site) changing(id *pki.Identity) *atomic.Pointer[pki.Identity] {
	var current atomic.Pointer[pki.Identity]
	current.Store(id)
	s.cfg.Identity = current.Load
	return &current
}

// traffic sends a small copy on each of 16 lanes every 100 ms, and waits for a link when there is none. pause is the longest time between two copies of one lane.
type traffic struct {
	answers *ledger
	count   int
	pause   time.Duration
	stop    chan struct{}
	done    chan struct{}
}

func (w *world) traffic(from, to *site) *traffic {
	t := &traffic{newLedger(), 0, 0, make(chan struct{}), make(chan struct{})}
	const lanes, each = 16, 3000
	var all [lanes][]*federation.Batch
	for i := range all {
		all[i] = batches(w.t, testLane(i), each, 100)
	}
	go func() {
		defer close(t.done)
		var last [lanes]time.Time
		for n := 0; n < each; n++ {
			for i := range all {
				if !t.send(from, to, all[i][n]) {
					return
				}
				if !last[i].IsZero() {
					t.pause = max(t.pause, time.Since(last[i]))
				}
				last[i] = time.Now()
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return t
}

func (t *traffic) send(from, to *site, b *federation.Batch) bool {
	for {
		select {
		case <-t.stop:
			return false
		default:
		}
		if l := from.endpoint.peer(to.name).current(); l != nil {
			err := l.Copy(context.Background(), 1, b.Header.Lane, federation.Sidecar{Bitmap: 1}, b, t.answers.answer(b))
			if err == nil {
				t.count++
				return true
			}
			if !errors.Is(err, ErrDraining) && !errors.Is(err, ErrLinkDown) {
				from.w.t.Error(err)
				return false
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// end waits for the last answers and checks that every copy was answered with OK.
func (t *traffic) end(w *world, from string, longest time.Duration) {
	w.t.Helper()
	close(t.stop)
	<-t.done
	sleep(2 * time.Second)
	counts, err := t.answers.tally()
	if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: t.count}, counts); diff != "" || err != nil {
		w.t.Errorf("answers at %s: %v (-want +got):\n%s", from, err, diff)
	}
	if t.pause > longest {
		w.t.Errorf("a lane of %s paused for %s, want at most %s", from, t.pause, longest)
	}
}

func TestRenewedCertificatesLoseNothingAndPauseNoLaneForLong(t *testing.T) {
	for name, who := range map[string]struct{ dialling, accepting bool }{
		"of the dialling side": {true, false}, "of the accepting side": {false, true}, "of both sides at once": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
				life := func(short bool) time.Duration {
					if short {
						return 2 * time.Minute
					}
					return time.Hour
				}
				a, n := ams.changing(w.identity(w.authority, "ams", life(who.dialling))), nyc.changing(w.identity(w.authority, "nyc", life(who.accepting)))
				nyc.start(ams.passive())
				ams.start(nyc.peer())
				sleep(time.Second)
				there, back := w.traffic(ams, nyc), w.traffic(nyc, ams)
				sleep(time.Minute)

				if who.dialling {
					a.Store(w.identity(w.authority, "ams", time.Hour))
				}
				if who.accepting {
					n.Store(w.identity(w.authority, "nyc", time.Hour))
				}
				sleep(3 * time.Minute) // past the end of the first ones

				there.end(w, "ams", 400*time.Millisecond)
				back.end(w, "nyc", 400*time.Millisecond)
				for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
					if got := s.status(peer); got.State != StateRunning || len(got.Connections) != 2 || got.Reason != "" {
						t.Errorf("%s: %s %q, %d connections", s.name, got.State, got.Reason, len(got.Connections))
					}
					if ups, downs := s.handler.counts(); ups != 2 || downs != 1 {
						t.Errorf("%s: up %d times, down %d times; want one renewal", s.name, ups, downs)
					}
					if got := s.endpoint.Refused(); len(got) != 0 {
						t.Errorf("%s refused %v", s.name, got)
					}
					for _, c := range s.link(peer).conns() {
						if c.outdated() {
							t.Errorf("%s: connection %d is outdated", s.name, c.index)
						}
					}
				}
			})
		})
	}
}

func TestARenewedCertificateThatThePeerRefusesChangesNothingAndIsSaid(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		a := ams.changing(w.identity(w.authority, "ams", time.Hour))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)
		there := w.traffic(ams, nyc)
		sleep(30 * time.Second)

		a.Store(w.identity(w.another("example"), "ams", time.Hour)) // nyc does not trust its authority
		sleep(time.Minute)

		there.end(w, "ams", 150*time.Millisecond)
		if s := ams.status(nyc); s.State != StateRunning || !strings.Contains(s.Reason, "nyc refused our certificate") || s.Fix == "" {
			t.Errorf("%s, %q, %q; want running, and why the second connection is not dialled anew", s.State, s.Reason, s.Fix)
		}
		if ups, downs := ams.handler.counts(); ups != 1 || downs != 0 {
			t.Errorf("up %d times, down %d times", ups, downs)
		}
	})
}

func TestFramesThatWaitOnAReplacedConnectionGetTheirAnswers(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		a := ams.changing(w.identity(w.authority, "ams", time.Hour))
		nyc.handler.set(func(r *recorder) { r.hold = true })
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(15 * time.Second)
		answers := newLedger()
		for i := range 20 {
			answers.copyAll(t, ams.link(nyc), 1, batches(t, testLane(i), 1, 100))
		}
		sleep(100 * time.Millisecond)

		a.Store(w.identity(w.authority, "ams", time.Hour))
		sleep(8 * time.Second)
		if got, err := answers.tally(); len(got) != 0 || err != nil {
			t.Errorf("before the peer answered: %v, %v", got, err)
		}
		for _, answer := range nyc.handler.answers {
			answer(federation.OK, 0)
		}
		sleep(2 * time.Second)

		counts, err := answers.tally()
		if diff := cmp.Diff(map[federation.Verdict]int{federation.OK: 20}, counts); diff != "" || err != nil {
			t.Errorf("answers: %v (-want +got):\n%s", err, diff)
		}
		if s := ams.status(nyc); s.State != StateRunning || len(s.Connections) != 2 || ams.link(nyc).first.outdated() {
			t.Errorf("%s %q, %d connections", s.State, s.Reason, len(s.Connections))
		}
	})
}

func TestACertificateThatIsRenewedWithinAHandshakeIsRenewedOnItsLinkToo(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		n := nyc.changing(w.identity(w.authority, "nyc", 2*time.Minute))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		time.Sleep(50 * time.Millisecond) // the first packet came after 20 ms, the handshake is done after 60

		n.Store(w.identity(w.authority, "nyc", time.Hour))
		sleep(5 * time.Minute) // past the end of the first one

		if ups, downs := ams.handler.counts(); ups != 2 || downs != 1 || ams.handler.lastDown() != errDrained {
			t.Errorf("up %d times, down %d times, the last time with %v; want one renewal", ups, downs, ams.handler.lastDown())
		}
		if got := ams.endpoint.Refused(); len(got) != 0 {
			t.Errorf("ams refused %v", got)
		}
	})
}
