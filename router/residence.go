package router

import (
	"slices"
	"sync"
	"time"
)

// residence tells how long batches have been at this site. They carry only the wall clock's time, and that clock may be stepped; a message
// with a lifetime must not end for it. So the steps of the wall clock against the monotonic one are kept, and undone:
//
//	wall       ───────┐ step back   ┌──────   shift of the wall against began + monotonic
//	                  └─────────────┘ step forward
//	monotonic  ──────────────────────────▶    age = now − the moment at which the wall showed the time of sealing
//
// Only what passed while no router ran is taken from the wall clock (docs/design.md 7).
type residence struct {
	began time.Time // of this process, by both clocks

	mu    sync.Mutex // lanes seal, senders ask
	steps []step     // ascending; the first is the beginning
}

// step begins a time in which the wall clock differed from began + monotonic by shift.
type step struct {
	at    time.Duration // since began, monotonic
	shift time.Duration
}

const (
	// stepWorth is what counts as a step. Chosen: below what lifetimes are about, above what lies between the readings of two clocks.
	stepWorth = 100 * time.Millisecond
	// maxSteps bounds the memory; a clock that is stepped so often is right by chance. The oldest are forgotten.
	maxSteps = 64
)

func newResidence(now time.Time) *residence {
	return &residence{began: now, steps: []step{{}}}
}

// observe looks at both clocks. Whoever seals says so with the time that it writes into the batch.
func (r *residence) observe(now time.Time) {
	at := now.Sub(r.began)
	r.note(at, now.Round(0).Sub(r.began.Round(0))-at)
}

func (r *residence) note(at, shift time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.steps[len(r.steps)-1]
	if d := shift - last.shift; -stepWorth < d && d < stepWorth || at < last.at {
		return
	}
	r.steps = append(r.steps, step{at, shift})
	if len(r.steps) > maxSteps {
		r.steps = r.steps[1:]
		r.steps[0].at = 0
	}
}

// age is how long ago a batch was sealed, by this process or by an earlier one.
func (r *residence) age(sealed time.Time, byThisOne bool, now time.Time) time.Duration {
	r.observe(now)
	return r.ageAt(sealed.Sub(r.began.Round(0)), byThisOne, now.Sub(r.began))
}

// ageAt is age with the wall clock at the sealing and the monotonic one, both since began.
func (r *residence) ageAt(wall time.Duration, byThisOne bool, now time.Duration) time.Duration {
	if !byThisOne {
		return now + max(0, -wall)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(max(0, now-r.moment(wall, now)), now)
}

// moment is when the wall clock showed began + wall: of several moments the last, so that nobody is called older than it is; of none
// the last step. Callers hold mu.
func (r *residence) moment(wall, now time.Duration) time.Duration {
	end := now
	for _, s := range slices.Backward(r.steps) {
		if m := wall - s.shift; s.at-stepWorth <= m && m <= end+stepWorth {
			return m
		}
		end = s.at
	}
	return r.steps[len(r.steps)-1].at
}
