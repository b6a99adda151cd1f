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

func TestAnOlderCopyOfAnOriginsStoreIsToldAndLosesNothingThatWasConfirmedAfterItCameBack(t *testing.T) {
	for _, c := range []struct {
		what  string
		rate  float64                           // messages a second
		newer int                               // messages that arrive after the copy was made
		copy  func(w story) (index uint64)      // makes the copy: up to this index messages are surely in it, or delivered
		end   func(w story, site string)        // ends the router before the copy is put back
		start func(w story, site string, n int) // starts it on the copy
	}{
		{"a clean copy", 30, 40, story.copyStoppedOrigin, story.stop, story.startLinked},
		{"a clean copy", 1500, 1000, story.copyStoppedOrigin, story.stop, story.startLinked},
		{"a copy of a running store", 30, 40, story.copyRunningOrigin, story.kill, story.startLinked},
		{"a copy of a running store", 1500, 1000, story.copyRunningOrigin, story.kill, story.startLinked},
		{"a clean copy, in the dark", 300, 300, story.copyStoppedOrigin, story.stop, story.startInTheDark},
		{"a copy of a running store, in the dark", 1500, 1000, story.copyRunningOrigin, story.kill, story.startInTheDark},
	} {
		t.Run(fmt.Sprintf("%s at %v a second", c.what, c.rate), func(t *testing.T) {
			t.Parallel()
			w := newStory(t, world.Config{})
			w.Publish(c.rate)
			w.more(20)
			copied := c.copy(w)
			w.more(c.newer)
			c.end(w, "ams")
			taken := w.taken()
			w.putBack("ams")

			c.start(w, "ams", c.newer)
			w.confirmed(6 * c.newer) // it numbers anew, and is long past what the destination has done
			w.told("cloudqueue spool reseal")
			w.resealed("ams")

			w.BalanceBut("it was in the replaced store alone", func(index uint64) bool {
				return copied < index && index <= taken
			})
			w.well()
		})
	}
}

func TestAnOlderCopyOfADestinationsStoreIsToldAndLosesNothing(t *testing.T) {
	for _, c := range []struct {
		what  string
		rate  float64                    // messages a second
		newer int                        // messages that arrive after the copy was made
		copy  func(w story, site string) // makes the copy
		end   func(w story, site string) // ends the router before the copy is put back
	}{
		{"a clean copy", 30, 40, story.copyStopped, story.stop},
		{"a clean copy", 1500, 1000, story.copyStopped, story.stop},
		{"a copy of a running store", 300, 300, story.copyRunning, story.kill},
		{"a copy of a running store", 1500, 1000, story.copyRunning, story.kill},
	} {
		t.Run(fmt.Sprintf("%s at %v a second", c.what, c.rate), func(t *testing.T) {
			t.Parallel()
			w := newStory(t, world.Config{})
			w.Publish(c.rate)
			w.more(20)
			c.copy(w, "nyc")
			w.more(c.newer)
			c.end(w, "nyc")
			w.putBack("nyc")

			w.start("nyc")
			w.confirmed(6 * c.newer)
			w.told("cloudqueue spool reseal")
			w.resealed("nyc")

			w.Balance()
			w.well()
		})
	}
}

// copyRunning makes the older copy of a site's store as it is, its router running or not.
func (w story) copyRunning(site string) {
	w.T.Helper()
	w.copySpool(w.spool(site), filepath.Join(w.Dir, "older"))
}

// copyStopped makes it while the router is stopped.
func (w story) copyStopped(site string) {
	w.T.Helper()
	w.stop(site)
	w.copyRunning(site)
	w.start(site)
}

func (w story) copyRunningOrigin() (index uint64) {
	w.T.Helper()
	index = w.highest()
	w.copyRunning("ams")
	return index
}

func (w story) copyStoppedOrigin() (index uint64) {
	w.T.Helper()
	w.stop("ams")
	index = w.taken()
	w.copyRunning("ams")
	w.start("ams")
	return index
}

// putBack replaces the store of a router that does not run by the older copy.
func (w story) putBack(site string) {
	w.T.Helper()
	w.copySpool(filepath.Join(w.Dir, "older"), w.spool(site))
}

// startLinked starts a router whose peer it can reach.
func (w story) startLinked(site string, _ int) {
	w.T.Helper()
	w.start(site)
}

// startInTheDark starts an origin while the link is cut, and heals it when n more messages are numbered than nyc has.
func (w story) startInTheDark(site string, n int) {
	w.T.Helper()
	w.Link.Cut()
	w.start(site)
	done := uint64(w.Arrived())
	w.Eventually(site+" numbers past what nyc has done", func() bool {
		out := w.Status(site).Out
		return len(out) > 0 && uint64(out[len(out)-1].LastAssigned) > done+uint64(n)
	})
	w.Link.Heal()
}

// resealed is a site after what its admin is told to do.
func (w story) resealed(site string) {
	w.T.Helper()
	w.stop(site)
	w.reseal(site)
	w.start(site)
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

// taken is up to which index ams has taken messages out of its queue, once its router does not run: the oldest that its
// broker has again is the next one.
func (w story) taken() uint64 {
	w.T.Helper()
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
