package stories

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
	"cloudqueue/sim/world"
)

// putBack is how an older copy of a store comes back.
type putBack struct {
	site    string
	rate    float64 // messages a second
	newer   int     // messages that arrive after the copy was made
	running bool    // the copy is made of a running store, whose router is killed; else it is stopped both times
	dark    bool    // the link is cut until ams has numbered past what nyc has done
}

func (s putBack) String() string {
	how := "a clean copy"
	if s.running {
		how = "a copy of a running store"
	}
	if s.dark {
		how += ", in the dark"
	}
	return fmt.Sprintf("%s at %v a second", how, s.rate)
}

func TestAnOlderCopyOfAnOriginsStoreIsToldAndLosesNothingThatWasConfirmedAfterItCameBack(t *testing.T) {
	for _, s := range []putBack{
		{rate: 30, newer: 40},
		{rate: 1500, newer: 1000},
		{rate: 30, newer: 40, running: true},
		{rate: 1500, newer: 1000, running: true},
		{rate: 300, newer: 300, dark: true},
		{rate: 1500, newer: 1000, running: true, dark: true},
	} {
		s.site = "ams"
		t.Run(s.String(), s.tell)
	}
}

func TestAnOlderCopyOfADestinationsStoreIsToldAndLosesNothing(t *testing.T) {
	for _, s := range []putBack{
		{rate: 30, newer: 40},
		{rate: 1500, newer: 1000},
		{rate: 300, newer: 300, running: true},
		{rate: 1500, newer: 1000, running: true},
	} {
		s.site = "nyc"
		t.Run(s.String(), s.tell)
	}
}

// tell is the story of one put-back, while the publisher never pauses.
func (s putBack) tell(t *testing.T) {
	t.Parallel()
	w := newStory(t, world.Config{})
	w.Publish(s.rate)
	w.more(20)
	copied := s.copy(w)
	w.more(s.newer)
	taken := s.putBack(w, copied)

	w.start(s.site)
	if s.dark {
		w.numberedPast(s.newer)
	}
	w.confirmed(6 * s.newer) // an origin that numbers anew is long past what the destination has done
	w.told("cloudqueue spool reseal")
	w.stop(s.site)
	w.reseal(s.site)
	w.start(s.site)

	w.BalanceBut("it was in the replaced store alone", func(index uint64) bool {
		return s.site == "ams" && copied < index && index <= taken
	})
	w.well()
}

// copy makes the older copy: up to which index messages are surely in it, or were delivered before.
func (s putBack) copy(w story) (index uint64) {
	w.T.Helper()
	if s.running {
		index = w.highest()
	} else {
		w.stop(s.site)
		index = w.taken(s.site)
	}
	w.copySpool(w.spool(s.site), filepath.Join(w.Dir, "older"))
	if !s.running {
		w.start(s.site)
	}
	return index
}

// putBack replaces the store of a router that is not running then: up to which index messages may be in the replaced one.
func (s putBack) putBack(w story, copied uint64) (index uint64) {
	w.T.Helper()
	if s.running {
		w.Sites.Site(s.site).Kill()
	} else {
		w.stop(s.site)
	}
	index = w.taken(s.site)
	if s.dark {
		w.Link.Cut()
	}
	w.copySpool(filepath.Join(w.Dir, "older"), w.spool(s.site))
	return index
}

// highest is the highest index that has appeared at nyc.
func (w story) highest() uint64 {
	w.T.Helper()
	index := uint64(0)
	for _, a := range w.Appearances() {
		index = max(index, a.Index)
	}
	return index
}

// taken is up to which index ams has taken messages out of its queue, once its router does not run: the oldest that its broker
// has again is the next one. Of a running origin it says nothing.
func (w story) taken(site string) uint64 {
	w.T.Helper()
	if site != "ams" {
		return 0
	}
	ams := w.Brokers["ams"]
	w.Eventually("messages wait at ams", func() bool {
		q, _ := ams.Queue(lane.SourceQueue)
		return q.Consumers == 0 && q.Ready > 0
	})
	oldest := uint64(math.MaxUint64)
	for _, a := range load.Appearances(ams.Snapshot(lane.SourceQueue), world.Seed) {
		oldest = min(oldest, a.Index)
	}
	return oldest - 1
}

// numberedPast heals the link when ams has numbered so many messages, in the dark.
func (w story) numberedPast(n int) {
	w.T.Helper()
	done := uint64(w.Arrived())
	w.Eventually("ams numbers past what nyc has done", func() bool {
		out := w.Status("ams").Out
		return len(out) > 0 && uint64(out[len(out)-1].LastAssigned) > done+uint64(n)
	})
	w.Link.Heal()
}
