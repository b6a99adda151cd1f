package main

import (
	"math/rand"
	"time"
)

// Walk takes random deep walks: for bounds that are too big to exhaust.
func (m *Model) Walk(c Check, walks, depth int, rnd *rand.Rand, until time.Time) Result {
	start := time.Now()
	res := Result{}
	var buf [128]Action
	memo := map[uint64]struct{}{}
	for w := 0; w < walks && time.Now().Before(until); w++ {
		s := m.initial()
		var tr []Action
		for i := 0; i < depth; i++ {
			acts := m.enabled(&s, buf[:0], true)
			if len(acts) == 0 {
				break
			}
			a := acts[rnd.Intn(len(acts))]
			if a.K >= aCrashO && rnd.Intn(3) != 0 {
				a = acts[rnd.Intn(len(acts))]
			}
			s = m.apply(s, a)
			tr = append(tr, a)
			res.Steps++
			v := m.safety(&s, c)
			if v == nil && c&cLive != 0 && i%5 == 0 {
				if len(memo) > 2e6 {
					memo = map[uint64]struct{}{}
				}
				v = m.heal(s, 5, c, memo, nil)
			}
			if v != nil {
				res.V, res.Trace = v, tr
				if v.What == cLive {
					m.heal(s, 5, c, nil, &res.Tail)
				}
				res.States, res.Took = w+1, time.Since(start)
				return res
			}
		}
		res.States = w + 1
	}
	res.Took = time.Since(start)
	return res
}
