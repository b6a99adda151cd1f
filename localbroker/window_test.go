package localbroker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// The model of a window: what each publish must end in, kept in maps and counted again at each step.
func TestWindowAgreesWithItsModel(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWindow(1 + r.IntN(16))
		want, got := map[uint64]federation.OutcomeKind{}, map[uint64][]federation.OutcomeKind{}
		returned := map[uint64]bool{}
		collect := func(told []settled) {
			for _, s := range told {
				s.outcome(s.result)
			}
		}
		answer := func(n uint64, ack bool) {
			if _, done := want[n]; done || n < 1 || n >= w.next {
				return
			}
			switch {
			case !ack:
				want[n] = federation.Nacked
			case returned[n]:
				want[n] = federation.Returned
			default:
				want[n] = federation.Confirmed
			}
		}
		for range 200 {
			n := w.next
			switch r.IntN(5) {
			case 0, 1:
				if !w.full() {
					w.add(federation.Message{RoutingKey: fmt.Sprint(n)}, func(o federation.Outcome) { got[n] = append(got[n], o.Kind) })
				}
			case 2:
				if _, done := want[n-1]; n > 1 && !done && !returned[n-1] {
					if err := w.matchReturn(&content{key: fmt.Sprint(n - 1), code: federation.CodeNoRoute}); err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					returned[n-1] = true
				}
			default:
				if n == 1 {
					continue
				}
				number, multiple, ack := 1+r.Uint64N(n-1), r.IntN(3) == 0, r.IntN(4) != 0
				told, err := w.confirm(number, multiple, ack, nil)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				collect(told)
				for k := number; k >= 1; k-- {
					answer(k, ack)
					if !multiple {
						break
					}
				}
			}
			if w.next-w.first > uint64(len(w.slots)) {
				t.Fatalf("seed %d: %d to %d in a window of %d", seed, w.first, w.next, len(w.slots))
			}
		}
		collect(w.end(closing{code: 404, hard: true}, nil))
		for n := uint64(1); n < w.next; n++ {
			if _, done := want[n]; !done {
				want[n] = federation.Unknown
				if returned[n] {
					want[n] = federation.Returned
				}
			}
			if diff := cmp.Diff([]federation.OutcomeKind{want[n]}, got[n]); diff != "" {
				t.Fatalf("seed %d, publish %d: %s", seed, n, diff)
			}
		}
	}
}

func TestOnlyASoftErrorOfAPublishRefuses(t *testing.T) {
	for _, c := range []struct {
		why  closing
		want bool
	}{
		{closing{code: 404, cause: amqpwire.BasicPublish}, true}, {closing{code: 403}, true}, {closing{code: 406}, true}, {closing{code: 311}, true},
		{closing{code: 404, cause: 60<<16 | 20}, false}, {closing{code: 404, hard: true}, false}, {closing{code: 504}, false}, {closing{}, false},
		{closing{code: 541, hard: true}, false}, {closing{code: 541, hard: true, apart: true}, true}, {closing{code: 501, cause: amqpwire.BasicPublish, hard: true, apart: true}, true},
		{closing{code: 320, hard: true, apart: true}, false}, {closing{hard: true, apart: true}, false}, {closing{code: 503, cause: 60<<16 | 20, hard: true, apart: true}, false},
	} {
		if got := c.why.refusal(); got != c.want {
			t.Errorf("%+v: %v", c.why, got)
		}
	}
}
