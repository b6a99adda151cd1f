package router

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// counts counts what was turned away, by what it was and why; the number of both is bounded by the code that names them.
type counts struct {
	mu sync.Mutex // links and lanes count, status looks
	of map[refused]tally
}

// refused is what was turned away and why.
type refused struct{ what, reason string }

// tally is how often, with the last one.
type tally struct {
	count  uint64
	last   time.Time
	detail string // of the last one: whose it was
	fix    string
}

// add counts one more. Detail says whose it was; fix is empty when it heals by itself.
func (c *counts) add(what, reason, detail, fix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[refused]tally{}
	}
	key := refused{what, reason}
	c.of[key] = tally{c.of[key].count + 1, time.Now(), detail, fix}
}

// addVerdict counts what this site refuses as a destination.
func (c *counts) addVerdict(what string, v federation.Verdict, detail string) {
	c.add(what, v.String(), detail, copyFix(v))
}

func (c *counts) snapshot() map[refused]tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.of)
}

// about names a lane and the site at the other end, for a refusal's detail.
func about(lane federation.Lane, peer federation.SiteID) string {
	return lane.String() + ", " + string(peer)
}

// Refusals counts what was turned away since the start, by what it was and why.
func (r *Router) Refusals() []admin.Refusal {
	out := []admin.Refusal{}
	for key, n := range r.refused.snapshot() {
		out = append(out, admin.Refusal{What: key.what, Count: admin.Count{Reason: key.reason, Count: n.count, Last: n.last, Detail: n.detail, Fix: n.fix}})
	}
	slices.SortFunc(out, func(a, b admin.Refusal) int {
		return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Reason, b.Reason))
	})
	return out
}
