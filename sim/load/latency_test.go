package load

import (
	"testing"
	"time"
)

func TestQuantileIsTheNearestRank(t *testing.T) {
	var l Latencies
	for i := 100; i >= 1; i-- {
		l.Add(time.Duration(i) * time.Millisecond)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.01: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := l.Quantile(q); got != want*time.Millisecond {
			t.Errorf("quantile %v = %v, want %d ms", q, got, want)
		}
	}
	if got := new(Latencies).Quantile(0.5); got != 0 {
		t.Errorf("quantile of none = %v, want 0", got)
	}
}
