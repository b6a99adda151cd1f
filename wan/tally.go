package wan

import (
	"maps"
	"sync"
	"time"
)

// tally counts by reason. The reasons are ours, so there are few.
type tally struct {
	mu     sync.Mutex // counts come from every goroutine
	counts map[string]uint64
	last   map[string]Occurrence
}

// Occurrence is the last one that was counted of a reason.
type Occurrence struct {
	At     time.Time
	Detail string // who and what, for people; empty when nothing is known of it
}

func (t *tally) add(reason string) { t.addOf(reason, "") }

// addOf is add with what there is to say of this one.
func (t *tally) addOf(reason, detail string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts, t.last = map[string]uint64{}, map[string]Occurrence{}
	}
	t.counts[reason]++
	t.last[reason] = Occurrence{time.Now(), detail}
}

func (t *tally) snapshot() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}

func (t *tally) lasts() map[string]Occurrence {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.last)
}
