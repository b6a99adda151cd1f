package localbroker

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff spaces attempts with full jitter: each waits a random time below a bound that doubles, so that all that a
// broken broker throws off do not come back together.
type backoff struct {
	least, most time.Duration
	bound       time.Duration
}

// next gives the time to wait before the next attempt.
func (b *backoff) next() time.Duration {
	b.bound = max(min(max(b.least, 2*b.bound), b.most), 1)
	return rand.N(b.bound) + time.Millisecond
}

func (b *backoff) reset() { b.bound = 0 }

// wait waits for d, or until ctx ends or wake fires, which may be nil.
func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // whatever comes first, the caller looks at everything again
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
