//go:build model

package main

import "testing"

// The rules hold: every small scenario is exhausted without a violation.
func TestScenarios(t *testing.T) {
	for _, m := range scenarios(false) {
		exhaust(t, m)
	}
}

// The checkers bite: every changed rule is caught.
func TestMutants(t *testing.T) {
	for _, x := range mutants {
		t.Run(x.Name, func(t *testing.T) {
			m, r := x.run(2_000_000)
			if r.V == nil {
				t.Fatalf("not caught in %s: %d states, exhausted %v", x.Scenario, r.States, r.Whole)
			}
			t.Logf("%s, %d states, trace:\n%s", checkName[r.V.What], r.States, m.Explain(r))
		})
	}
}

// What the rules are not enough for: the violation is there.
func TestLimits(t *testing.T) {
	for _, x := range limits {
		t.Run(x.Name, func(t *testing.T) {
			m, r := x.run(2_000_000)
			if r.V == nil {
				t.Fatalf("no violation: %d states, exhausted %v", r.States, r.Whole)
			}
			t.Logf("%s, trace:\n%s", checkName[r.V.What], m.Explain(r))
		})
	}
}

// Rules that are not needed for a guarantee: the variant holds too.
func TestSimplifications(t *testing.T) {
	for _, x := range holds {
		t.Run(x.Name, func(t *testing.T) {
			m, r := x.run(4_000_000)
			if r.V != nil {
				t.Fatalf("violation:\n%s", m.Explain(r))
			}
			t.Logf("%d states, exhausted %v", r.States, r.Whole)
		})
	}
}
