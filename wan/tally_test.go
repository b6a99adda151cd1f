package wan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatWasRefusedLastIsTold(t *testing.T) {
	inWorld(t, 20*time.Millisecond, func(w *world) {
		ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
		ams.use(w.identity(w.another("example"), "ams", 0))
		nyc.start(ams.passive())
		ams.start(nyc.peer())
		sleep(time.Second)

		for whose, last := range map[string]Occurrence{"the endpoint": nyc.endpoint.LastRefused()["unknown-authority"], "the peer": nyc.status(ams).LastRefused["unknown-authority"]} {
			if time.Since(last.At) > time.Second || !strings.Contains(last.Detail, "10.0.0.1: ") || !strings.Contains(last.Detail, "not signed by an authority that we trust") {
				t.Errorf("of %s: %+v", whose, last)
			}
		}
		if got, want := ams.status(nyc).Addresses, nyc.peer().Addresses; !slices.Equal(got, want) {
			t.Errorf("addresses %v, want %v", got, want)
		}
	})
}
