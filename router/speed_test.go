package router

import (
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestASpeedFollowsTheOffsetAndFades(t *testing.T) {
	start := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		offsets []federation.Offset // at each look, 5 s apart
		want    float64
	}{
		"one look tells nothing":             {[]federation.Offset{1000}, 0},
		"half of the estimate is the latest": {[]federation.Offset{0, 1000}, 100},
		"steady":                             {[]federation.Offset{0, 1000, 2000, 3000, 4000}, 187.5},
		"fades":                              {[]federation.Offset{0, 1000, 1000, 1000}, 25},
		"another generation":                 {[]federation.Offset{0, 1000, 3}, 0},
	} {
		var s speed
		for i, at := range c.offsets {
			s.look(at, start.Add(time.Duration(i)*speedEvery))
		}
		if s.perSecond != c.want {
			t.Errorf("%s: %v a second, want %v", name, s.perSecond, c.want)
		}
	}
}

func TestABacklogDrainsAtWhatLeavesLessWhatComes(t *testing.T) {
	for _, c := range []struct {
		backlog       uint64
		out, in, want float64
	}{
		{0, 0, 0, 0}, {1000, 300, 100, 5}, {1000, 100, 100, -1}, {1000, 0, 0, -1}, {0, 0, 100, 0},
	} {
		if got := drainSeconds(c.backlog, c.out, c.in); got != c.want {
			t.Errorf("%d at %v out, %v in: %v s, want %v", c.backlog, c.out, c.in, got, c.want)
		}
	}
}
