package spool

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	minBackoff = 10 * time.Millisecond // chosen: a store that hiccups once costs no more than a slow sync
	maxBackoff = 5 * time.Second       // chosen: a healed store is used again within seconds
)

// backoff is the wait after the attempt'th failure in a row: half to all of a time that doubles.
func backoff(attempt int) time.Duration {
	d := min(maxBackoff, minBackoff<<min(attempt-1, 16))
	return d/2 + rand.N(d/2+1)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
