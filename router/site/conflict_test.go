package site_test

import (
	"testing"

	"cloudqueue/federation"
)

// verdictOn is the next verdict on a copy that is not OK.
func (h *hostile) verdictOn(number uint64) federation.Verdict {
	h.t.Helper()
	for {
		for _, e := range await[federation.Ack](h).Exceptions {
			if e.Number == number {
				return e.Verdict
			}
		}
	}
}

func TestABranchOfALaneIsAnsweredConflictAndStatusCountsIt(t *testing.T) {
	w, nyc, sin := besieged(t)
	h := w.intrude(t, "ams", nyc)
	h.openLane(ordersLane)
	h.copy(sealIn(t, 2, ordersLane, 1, 100))
	eventually(t, "the first branch is done", func() bool { return nyc.laneIn("ams/orders").Done == 1 })

	h.copy(sealIn(t, 3, ordersLane, 1, 200))

	if got := h.verdictOn(2); got != federation.Conflict {
		t.Errorf("the other branch is answered %s", got)
	}
	if got := nyc.refused("copy", "CONFLICT"); got != 1 {
		t.Errorf("%d counted", got)
	}
	if got := nyc.bodies("in"); len(got) != 1 || len(got[0]) != 100 {
		t.Errorf("at nyc: %q", got)
	}
	nyc.emptied("in", 1)
	unharmed(t, sin, nyc)
}
