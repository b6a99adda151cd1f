//go:build integration && chaos

package chaos

import "testing"

// TestChaos is make test-chaos: at least 30 strikes at random moments, each kind at least three times.
func TestChaos(t *testing.T) {
	strikes(t, int(number(t, "CHAOS_KILLS", 32)))
}
