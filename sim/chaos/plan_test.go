package chaos

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanIsItsSeed(t *testing.T) {
	if diff := cmp.Diff(MakePlan(7, 32), MakePlan(7, 32)); diff != "" {
		t.Errorf("two plans of one seed differ:\n%s", diff)
	}
	if cmp.Equal(MakePlan(7, 32), MakePlan(8, 32)) {
		t.Error("plans of two seeds are equal")
	}
}

func TestThirtyKillsAreThirtyAndEveryKindStrikesAtLeastThreeTimes(t *testing.T) {
	for seed := range uint64(200) {
		count := map[Kind]int{}
		killed := 0
		for _, s := range MakePlan(seed, 30) {
			count[s.Kind]++
			if !s.Kind.pauses() {
				killed++
			}
			if s.After < 0 || s.Down < 0 || s.Down > 8*time.Second {
				t.Fatalf("seed %d: %s", seed, s)
			}
		}
		if killed != 30 {
			t.Errorf("seed %d: %d kills, want 30: pauses count apart", seed, killed)
		}
		for _, kind := range Kinds {
			if count[kind] < 3 {
				t.Errorf("seed %d: %s strikes %d times, want at least 3", seed, kind, count[kind])
			}
		}
	}
}

func TestAShortPlanHasEveryKindOnce(t *testing.T) {
	count := map[Kind]int{}
	for _, s := range MakePlan(1, len(kills)) {
		count[s.Kind]++
	}
	for _, kind := range Kinds {
		if count[kind] != 1 {
			t.Errorf("%s strikes %d times, want once", kind, count[kind])
		}
	}
}
