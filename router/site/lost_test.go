package site_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

// losesASegment stores 50 messages of ams/orders, and then loses the segment that holds them; the router of ams is stopped.
func (ams *member) losesASegment() {
	t := ams.world.t
	t.Helper()
	ams.publish("orders", 1, 50)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 50 })
	ams.stopRouter()
	segments, err := filepath.Glob(filepath.Join(ams.storeDir(), "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	ams.start() // its CHECKPOINT tells of the segment before
	eventually(t, "the router answers", func() bool { return ams.status().Site == "ams" })
	ams.stopRouter()
	if err := os.Remove(slices.Min(segments)); err != nil {
		t.Fatal(err)
	}
}

func TestAStoreThatHasLostASegmentSaysSoAtEachStartAndWhatToType(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	ams.losesASegment()
	for range 2 { // a clean stop does not make it forget
		ams.start()
		eventually(t, "the router answers", func() bool { return ams.status().Site == "ams" })
		s := ams.status().Store
		if s.State != admin.Corrupt || len(s.Quarantined) != 1 || !strings.Contains(s.Reason, "the segment is missing") || !strings.Contains(s.Fix, "cloudqueue spool void --corrupt") {
			t.Errorf("store %+v", s)
		}
		ams.stopRouter()
	}
}

func TestALostSegmentIsVoidedWithTheNumbersThatStatusPrintsAndTheStoreIsWellAgain(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	ams.losesASegment()
	ams.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 51, 60)
	nyc.start()
	var held admin.OutDestination
	eventually(t, "the lane stands at what is missing, and says what to type", func() bool {
		held = ams.laneOut("ams/orders").Destinations[0]
		return held.State == admin.Held && strings.Contains(held.Fix, "cloudqueue spool void ams/orders 1-50 --reason corrupt --yes")
	})
	if s := ams.status().Store; s.State != admin.Corrupt {
		t.Errorf("store %+v", s)
	}

	ams.typed(held.Fix)

	ams.receipted("ams/orders", 60)
	if diff := cmp.Diff(numbered(51, 60), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if s := ams.status().Store; s.State != admin.Running || len(s.Quarantined) != 0 {
		t.Errorf("store %+v", s)
	}
	ams.balanced()
	nyc.balanced()
}
