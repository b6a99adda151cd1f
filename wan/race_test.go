package wan

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"cloudqueue/federation"
)

// nowhere are addresses that nobody answers at.
func nowhere(count int) []string {
	var all []string
	for i := range count {
		all = append(all, hostAddress(fmt.Sprintf("10.0.9.%d", i+1)))
	}
	return all
}

// toEach dials these addresses.
func (s *site) toEach(addresses ...string) Peer {
	entry := s.peer()
	entry.Addresses = addresses
	return entry
}

// withoutNames gives a site a name service that never answers.
func (s *site) withoutNames() *site {
	s.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	return s
}

func TestEachDeadAddressOfAPeerDelaysTheNextByAQuarterOfASecond(t *testing.T) {
	for dead := range 8 {
		inWorld(t, 20*time.Millisecond, func(w *world) {
			ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
			nyc.start(ams.passive())

			ams.start(nyc.toEach(append(nowhere(dead), hostAddress(nyc.host))...))
			took := ams.untilUp(nyc, time.Minute)

			begun := time.Duration(dead) * 250 * time.Millisecond
			if took < begun || took > begun+200*time.Millisecond { // some three round trips
				t.Errorf("with %d dead addresses the link was up after %s", dead, took)
			}
		})
	}
}

func TestOfManyAddressesOnlySoManyAreTriedAtOnce(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.start(nyc.toEach(nowhere(30)...))

		sleep(2900 * time.Millisecond) // the first ends after 3 s

		w.net.mu.Lock()
		defer w.net.mu.Unlock()
		if got := len(w.net.targets); got != maxDials {
			t.Errorf("%d addresses got packets, want %d", got, maxDials)
		}
	})
}

func TestAnAddressThatRefusesUsIsPassedOver(t *testing.T) {
	for name, delay := range map[string]time.Duration{"near": 20 * time.Millisecond, "far": 400 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, delay, func(w *world) {
				ams, old, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2"), w.site("nyc", "10.0.0.3")
				old.handler.set(func(r *recorder) { r.greeting = federation.Fenced })
				old.start(ams.passive())
				nyc.start(ams.passive())

				ams.start(nyc.toEach(hostAddress(old.host), hostAddress(nyc.host)))

				if took := ams.untilUp(nyc, time.Minute); took > 250*time.Millisecond+14*delay {
					t.Errorf("the link was up after %s", took)
				}
				sleep(delay)
				if ups, _ := nyc.handler.counts(); ups != 1 {
					t.Errorf("up %d times at the address that takes us", ups)
				}
			})
		})
	}
}

func TestOfTwoAddressesThatAnswerOneHearsOurHello(t *testing.T) {
	inWorld(t, 400*time.Millisecond, func(w *world) {
		ams, nyc, other := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2"), w.site("nyc", "10.0.0.3")
		nyc.start(ams.passive())
		other.start(ams.passive())

		ams.start(nyc.toEach(hostAddress(nyc.host), hostAddress(other.host)))
		sleep(time.Minute)

		if s := ams.status(nyc); s.State != StateRunning || len(s.Connections) != 2 {
			t.Errorf("%s %q, %d connections", s.State, s.Reason, len(s.Connections))
		}
		if got := len(other.handler.hellos); got != 0 {
			t.Errorf("the second address heard %d hellos", got)
		}
		if got := other.endpoint.Refused(); len(got) != 0 {
			t.Errorf("it refused %v", got)
		}
		if ups, downs := ams.handler.counts(); ups != 1 || downs != 0 {
			t.Errorf("up %d times, down %d times", ups, downs)
		}
	})
}

func TestANameThatDoesNotResolveIsSaidAndHoldsUpNoOtherAddress(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1").withoutNames(), w.site("nyc", "10.0.0.2")
		nyc.start(ams.passive())
		ams.start(nyc.toEach("nyc.example:1000", hostAddress("10.0.9.1")))
		sleep(5 * time.Second)

		if s := ams.status(nyc); !strings.HasPrefix(s.Reason, "the name nyc.example does not resolve") || !strings.Contains(s.Fix, "the name service") {
			t.Errorf("%s %q, %q", s.State, s.Reason, s.Fix)
		}
		ams.endpoint.SetPeers([]Peer{nyc.toEach("nyc.example:1000", hostAddress(nyc.host))})

		if took := ams.untilUp(nyc, time.Minute); took > 500*time.Millisecond {
			t.Errorf("the link was up after %s", took)
		}
	})
}

func TestAnAttemptWithoutAnAddressIsAnError(t *testing.T) {
	inWorld(t, 0, func(w *world) {
		ams := w.site("ams", "10.0.0.1").start()

		o, _, err := ams.endpoint.dialAny(context.Background(), Peer{Site: "nyc"}, 1, func() {})

		if o != nil || err == nil {
			t.Errorf("got %v, %v", o, err)
		}
	})
}
