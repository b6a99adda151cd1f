package load

import (
	"slices"
	"time"
)

// Latencies collects durations. It keeps every one: a measurement is some ten thousand of them. For one goroutine.
type Latencies struct {
	all    []time.Duration
	sorted bool
}

// Add puts a duration in.
func (l *Latencies) Add(d time.Duration) {
	l.all, l.sorted = append(l.all, d), false
}

// Quantile is the smallest duration that at least the share q (0 to 1) of all are not above; 0 without any.
func (l *Latencies) Quantile(q float64) time.Duration {
	if len(l.all) == 0 {
		return 0
	}
	if !l.sorted {
		slices.Sort(l.all)
		l.sorted = true
	}
	rank := int(q*float64(len(l.all)) + 0.999999) // the ceiling: rank 1 is the smallest
	return l.all[min(max(rank, 1), len(l.all))-1]
}
