//go:build integration && chaos

package chaos

import "testing"

// leastKills is how many kills a run has at least.
const leastKills = 30

// leastOfAKind is how often every kind must strike; with the 30 kills of a run without CHAOS_KILLS each kills five times.
const leastOfAKind = 3

// TestChaos is make test-chaos: 30 kills at random moments, and pauses besides, each kind at least three times.
func TestChaos(t *testing.T) {
	kills := int(number(t, "CHAOS_KILLS", leastKills))
	if kills < leastKills {
		t.Fatalf("CHAOS_KILLS is %d, and at least %d", kills, leastKills)
	}
	toll := strikes(t, kills)
	for _, kind := range Kinds {
		if n := len(toll.of(kind)); n < leastOfAKind {
			t.Errorf("%s: %d times, want at least %d: CHAOS_KILLS is at least 30", kind, n, leastOfAKind)
		}
	}
}
