package wan

import (
	"maps"
	"sync"
)

// tally counts by reason. The reasons are ours, so there are few.
type tally struct {
	mu     sync.Mutex // counts come from every goroutine
	counts map[string]uint64
}

func (t *tally) add(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]uint64{}
	}
	t.counts[reason]++
}

func (t *tally) snapshot() map[string]uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}
