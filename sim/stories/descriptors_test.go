//go:build linux

package stories

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"cloudqueue/sim/world"
)

// exhausted is for how long descriptors are out: some attempts of everything that opens a file or a socket.
const exhausted = 5 * time.Second

func TestRoutersWithoutFileDescriptorsLoseNothingAndGoOnByThemselves(t *testing.T) {
	t.Parallel()
	small := "quota: 200MiB, segment-size: 1MiB" // a segment is full, and another one needed, within a second
	w := newStory(t, world.Config{Stores: map[string]string{"ams": small, "nyc": small}})
	w.Publish(1500)
	w.more(1000)

	w.descriptors(8)
	time.Sleep(exhausted)
	w.descriptors(20000)

	w.more(1500)
	w.Balance()
	w.well()
}

// descriptors limits both routers to so many. What they have open they keep.
func (w story) descriptors(n int) {
	w.T.Helper()
	for _, site := range []string{"ams", "nyc"} {
		limit := exec.Command("prlimit", fmt.Sprintf("--nofile=%d:20000", n), "--pid", fmt.Sprint(w.Sites.Site(site).Process().PID()))
		if out, err := limit.CombinedOutput(); err != nil {
			w.T.Fatalf("%v: %s", err, out)
		}
	}
}
