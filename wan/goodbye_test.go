package wan

import (
	"context"
	"testing"
	"time"
)

func TestAPeerThatStoppedCleanlyIsSaidToHaveStopped(t *testing.T) {
	for _, dialling := range []string{"ams", "nyc"} {
		t.Run(dialling+" dials", func(t *testing.T) {
			inWorld(t, 20*time.Millisecond, func(w *world) {
				ams, nyc := w.site("ams", "10.0.0.1"), w.site("nyc", "10.0.0.2")
				peers := map[string][2]Peer{"ams": {nyc.peer(), ams.passive()}, "nyc": {nyc.passive(), ams.peer()}}[dialling]
				ams.start(peers[0])
				nyc.start(peers[1])
				sleep(15 * time.Second) // nyc leaves the dialling to ams for 10 s

				if err := nyc.endpoint.Drain(context.Background()); err != nil {
					t.Fatal(err)
				}
				nyc.stop()
				sleep(time.Minute) // of redialling, on the side that dials

				s := ams.status(nyc)
				if s.State != StateDown || s.Reason != "nyc stopped cleanly; waiting for it" || s.Fix != "start the router of nyc again if it shall run" {
					t.Errorf("state %s, reason %q, fix %q", s.State, s.Reason, s.Fix)
				}
			})
		})
	}
}
