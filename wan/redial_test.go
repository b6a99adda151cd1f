package wan

import (
	"testing"
	"time"

	"cloudqueue/federation"
)

// untilUp waits for the link and tells how long it took.
func (s *site) untilUp(peer *site, most time.Duration) time.Duration {
	s.w.t.Helper()
	began := time.Now()
	for s.status(peer).State != StateRunning {
		if time.Since(began) > most {
			s.w.t.Fatalf("%s has no link to %s after %s: %+v", s.name, peer.name, most, s.status(peer))
		}
		sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

func TestAPeerThatWasAwayFromTheStartIsLinkedAsSoonAsItIsBack(t *testing.T) {
	for _, away := range []federation.SiteID{"ams", "nyc"} {
		t.Run(string(away)+" was away", func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
				present, absent := nyc, ams
				if away == nyc.name {
					present, absent = ams, nyc
				}
				present.start(absent.peer())
				sleep(10 * time.Minute)

				absent.start(present.peer())

				// ams dials at once, nyc after its head start for ams; five round trips.
				if d := present.untilUp(absent, time.Minute); d > 1200*time.Millisecond {
					t.Errorf("the link was up %s after the return", d)
				}
				sleep(20 * time.Second)
				if ups, downs := present.handler.counts(); ups != 1 || downs != 0 {
					t.Errorf("up %d times, down %d times", ups, downs)
				}
			})
		})
	}
}

func TestManyThatWaitForAPeerThatCannotDialComeWithinAPauseAndNotAtOnce(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		hub := w.site("hub", "10.0.0.1")
		var spokes []*site
		var entries []Peer
		for i := range 30 {
			s := w.site(federation.SiteID("s"+string(rune('a'+i%26))+string(rune('a'+i/26))), "10.0.1."+string(rune('1'+i/10))+string(rune('0'+i%10)))
			entries = append(entries, s.passive())
			spokes = append(spokes, s.start(hub.peer()))
		}
		sleep(time.Minute)
		hub.start(entries...)
		came, before, most := []int(nil), 0, 0
		for range 20 {
			sleep(500 * time.Millisecond)
			ups, _ := hub.handler.counts()
			came, most, before = append(came, ups-before), max(most, ups-before), ups
		}

		// An attempt that found nobody ends within 3 s, the pause after it within 5 s.
		if before != len(spokes) {
			t.Errorf("%d of %d came within 10 s: %v", before, len(spokes), came)
		}
		if most > len(spokes)/2 {
			t.Errorf("%d came within half a second: %v", most, came)
		}
	})
}

func TestAPeerThatComesToUsIsDialledSoonButOnceForEachTimeItWasAway(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		nyc := w.site("nyc", "10.0.0.2")
		nyc.cfg.RedialMin, nyc.cfg.RedialMax = time.Millisecond, time.Hour
		nyc.start(Peer{Site: "ams", Addresses: []string{"10.0.0.99:1000"}, Dial: true})
		p := nyc.endpoint.peer("ams")
		waitAway := func() {
			for {
				if p.mu.Lock(); p.away && time.Until(p.next) > time.Minute && p.attempt == nil {
					p.mu.Unlock()
					return
				}
				p.mu.Unlock()
				sleep(time.Second)
			}
		}
		failures := func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.failures
		}
		waitAway()
		for i := range 3 { // it comes again and again, and says nothing
			r := w.rogue("ams", "10.0.0."+string(rune('3'+i))).dial(nyc)
			sleep(100 * time.Millisecond)
			r.qc.CloseWithError(0, "")
		}
		after := failures()
		sleep(500 * time.Millisecond)

		if after != 0 {
			t.Errorf("%d failures are counted, want none: the pauses begin anew", after)
		}
		p.mu.Lock()
		attempt := p.attempt
		p.mu.Unlock()
		if attempt == nil {
			t.Error("it was not dialled")
		}
		sleep(5 * time.Second)
		if n := failures(); n == 0 {
			t.Error("the attempt on the wrong address is no failure")
		}
	})
}

func TestAPeerThatAnswersAndRefusesIsNotDialledFasterBecauseItComes(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		for _, s := range []*site{ams, nyc} {
			s.handler.set(func(r *recorder) { r.greeting = federation.Fenced })
		}
		ams.start(nyc.peer())
		nyc.start(ams.peer())
		sleep(2 * time.Minute)

		// Both sides dial, with pauses of 2.5 s in the mean.
		for _, s := range []*site{ams, nyc} {
			if got := s.endpoint.Refused()["greet-FENCED"]; got < 20 || got > 150 {
				t.Errorf("%s refused %d times in 2 minutes", s.name, got)
			}
		}
	})
}
