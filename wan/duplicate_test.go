package wan

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"

	"github.com/google/go-cmp/cmp"
)

func TestTwoSidesThatDialAtOnceGetOneLink(t *testing.T) {
	// From both at the same moment to one long after the other, over every step of the hellos (25 ms each).
	for late := time.Duration(0); late <= 200*time.Millisecond; late += 5 * time.Millisecond {
		for _, first := range []string{"ams", "nyc"} {
			t.Run(first+" "+late.String()+" earlier", func(t *testing.T) {
				inWorld(t, 25*time.Millisecond, func(w *world) {
					ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
					toAms, toNyc := ams.peer(), nyc.peer()
					toAms.PeerDials, toNyc.PeerDials = false, false // both dial at once
					// Both sockets are there before either dials, so that no attempt is lost.
					ams.start()
					nyc.start()
					if first == "ams" {
						ams.endpoint.SetPeers([]Peer{toNyc})
						nyc.endpoint.SetPeers([]Peer{ams.passive()})
						sleep(late)
						nyc.endpoint.SetPeers([]Peer{toAms})
					} else {
						nyc.endpoint.SetPeers([]Peer{toAms})
						ams.endpoint.SetPeers([]Peer{nyc.passive()})
						sleep(late)
						ams.endpoint.SetPeers([]Peer{toNyc})
					}
					sleep(20 * time.Second)

					for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
						if got := s.status(peer); got.State != StateRunning || len(got.Connections) != 2 {
							t.Errorf("%s: %s %q, %d connections", s.name, got.State, got.Reason, len(got.Connections))
						}
						if ups, downs := s.handler.counts(); ups != 1 || downs != 0 {
							t.Errorf("%s: up %d times, down %d times: %v", s.name, ups, downs, s.handler.downs)
						}
					}
					if a, b := ams.link(nyc), nyc.link(ams); a.id != b.id {
						t.Errorf("the sides have links %016x and %016x", a.id, b.id)
					}
				})
			})
		}
	}
}

func TestTheLowerSiteDialsAndTheHigherTakesOver(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		toNyc := nyc.peer()
		toNyc.Addresses = []string{"10.0.0.99:1000"} // wrong, so that ams cannot
		ams.start(toNyc)
		nyc.start(ams.peer())
		takesOver := func(after time.Duration, ups int) {
			t.Helper()
			sleep(after - 100*time.Millisecond)
			if got, _ := nyc.handler.counts(); got != ups {
				t.Errorf("nyc dialled before its time of %s", after)
			}
			sleep(time.Second)
			if s := nyc.status(ams); s.State != StateRunning || !nyc.link(ams).dialled {
				t.Errorf("%s %q", s.State, s.Reason)
			}
		}

		takesOver(nyc.endpoint.cfg.HeadStart, 0)
		nyc.link(ams).Close("test")
		takesOver(nyc.endpoint.cfg.TakeOver, 1)
	})
}

func TestANewerProcessReplacesTheLinkOfTheOlder(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		answers := newLedger()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		answers.copyAll(t, nyc.link(ams), 1, batches(t, testLane(1), 5, 100))
		successor := w.site("ams", "10.0.0.9")
		hello := successor.cfg.Hello()
		hello.Boot, hello.Epoch = federation.BootID{2}, 2
		successor.cfg.Hello = func() federation.Hello { return hello }
		ams.handler.set(func(r *recorder) { r.hold = true })
		sleep(100 * time.Millisecond)

		// As Greet does at ams: whoever is older than the newest is fenced.
		nyc.handler.set(func(r *recorder) {
			r.greet = func(_ context.Context, h federation.Hello) (federation.Verdict, federation.Refusal) {
				if h.Epoch < 2 {
					return federation.Fenced, federation.Refusal{Why: "a newer process of ams is here"}
				}
				return federation.OK, federation.Refusal{}
			}
		})
		successor.start(nyc.peer())
		sleep(5 * time.Second)

		_, _, events := nyc.handler.snapshot()
		if diff := cmp.Diff([]string{"up ams", "down ams", "up ams"}, events); diff != "" {
			t.Errorf("at nyc (-want +got):\n%s", diff)
		}
		if got := nyc.link(ams).Hello().Epoch; got != 2 {
			t.Errorf("epoch %d, want the newer one's", got)
		}
		if s := ams.status(nyc); s.State != StateDown || !strings.Contains(s.Reason, "FENCED: a newer process of ams is here") {
			t.Errorf("the older: %s %q", s.State, s.Reason)
		}
	})
}

func TestAFencedLinkEndsBeforeItsSuccessorHearsOK(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		older := w.rogue("ams", "10.0.0.1").connect(nyc)
		go older.beat()
		newer := w.rogue("ams", "10.0.0.3").dial(nyc).openControl()
		hello := newer.hello()
		hello.Boot, hello.Epoch = federation.BootID{10}, 2
		newer.write(newer.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))

		newer.send(hello)

		if ack := newer.ack(); ack.Verdict != federation.OK {
			t.Fatalf("refused: %s %s", ack.Verdict, ack.Text)
		}
		_, _, events := nyc.handler.snapshot()
		if diff := cmp.Diff([]string{"up ams", "down ams"}, events); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		sleep(time.Second)
	})
}

func TestASecondHelloOfTheSameProcessDoesNotReplaceALiveLink(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		first := w.rogue("ams", "10.0.0.1").connect(nyc)
		go first.beat()
		second := w.rogue("ams", "10.0.0.3").dial(nyc).openControl()
		second.write(second.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))

		second.send(second.hello())

		if ack := second.ack(); ack.Verdict != federation.Full || ack.Text != "the link is up at nyc" {
			t.Errorf("answered %s %q", ack.Verdict, ack.Text)
		}
		sleep(2 * time.Second)
		if first.qc.Context().Err() != nil {
			t.Error("the first link was closed")
		}
		nyc.wantRefused("duplicate-link")
	})
}

func TestASecondConnectionOfNoLinkIsRefused(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		r := w.rogue("ams", "10.0.0.1").dial(nyc).openControl()
		h := r.hello()
		h.Connection = 1

		r.write(r.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))
		r.send(h)

		if ack := r.ack(); ack.Verdict == federation.OK {
			t.Error("was accepted")
		}
		nyc.wantRefused("no-such-link")
	})
}

func TestAFrameOfTheLinkOnItsSecondConnectionCutsThatConnection(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2").start(Peer{Site: "ams"})
		first := w.rogue("ams", "10.0.0.1").connect(nyc)
		go first.beat()
		second := w.rogue("ams", "10.0.0.3").dial(nyc).openControl()
		hello := second.hello()
		hello.Connection = 1
		second.write(second.control, federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}))
		second.send(hello)
		second.ack()
		second.send(federation.HelloAck{Hello: hello, Verdict: federation.OK})
		sleep(time.Second)
		if got := len(nyc.endpoint.Status()[0].Connections); got != 2 {
			t.Fatalf("%d connections, want 2", got)
		}

		second.send(federation.Window{Lane: testLane(1), Generation: 1, Destination: federation.Destination{Site: "nyc"}, Next: 1})

		if got := second.closed(time.Second); code(got.ErrorCode) != codeProtocol {
			t.Errorf("closed with %v", got)
		}
		sleep(time.Second)
		if _, frames, _ := nyc.handler.snapshot(); len(frames) != 0 || first.qc.Context().Err() != nil {
			t.Errorf("%d frames were taken; connection 0: %v", len(frames), first.qc.Context().Err())
		}
	})
}

func TestLosingTheSecondConnectionLosesOnlyItsFrames(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		nyc.handler.set(func(r *recorder) { r.hold = true })
		link := ams.link(nyc)
		onFirst, onSecond := newLedger(), newLedger()
		for i := range 20 {
			answers := onFirst
			if hashLane(testLane(i))>>32&1 == 1 {
				answers = onSecond
			}
			answers.copyAll(t, link, 1, batches(t, testLane(i), 2, 100))
		}
		sleep(time.Second)
		second := link.conns()[1]

		second.end(&closeError{codeInternal, "", "test"})
		sleep(5 * time.Second)

		got, err := onSecond.tally()
		if err != nil || got[federation.LinkLost] == 0 || len(got) != 1 {
			t.Errorf("on connection 1: %v, %v; want all lost", got, err)
		}
		if got, err := onFirst.tally(); err != nil || len(got) != 0 {
			t.Errorf("on connection 0: %v, %v; want no answer yet", got, err)
		}
		for s, peer := range map[*site]*site{ams: nyc, nyc: ams} {
			if got := s.status(peer); got.State != StateRunning || len(got.Connections) != 2 {
				t.Errorf("%s: %s, %d connections; want two again", s.name, got.State, len(got.Connections))
			}
			if ups, downs := s.handler.counts(); ups != 1 || downs != 0 {
				t.Errorf("%s: up %d times, down %d times", s.name, ups, downs)
			}
		}
	})
}

func TestARemovedPeerLosesItsLinkAndANewAddressIsTriedAtOnce(t *testing.T) {
	inWorld(t, 25*time.Millisecond, func(w *world) {
		ams, nyc := w.pair()
		sin := w.site("sin", "10.0.0.3")
		sin.start(ams.passive())

		wrong := sin.peer()
		wrong.Addresses = []string{"10.0.0.99:1000"}
		ams.endpoint.SetPeers([]Peer{wrong})
		sleep(40 * time.Second)
		if s := nyc.status(ams); s.State != StateDown {
			t.Errorf("nyc: %s", s.State)
		}
		if s := ams.status(sin); s.State != StateDown || !strings.Contains(s.Reason, "no answer from sin") || s.NextRetry.IsZero() {
			t.Errorf("ams to sin: %s %q", s.State, s.Reason)
		}

		ams.endpoint.SetPeers([]Peer{sin.peer()})
		sleep(time.Second)

		if s := ams.status(sin); s.State != StateRunning {
			t.Errorf("ams to sin: %s %q", s.State, s.Reason)
		}
	})
}
