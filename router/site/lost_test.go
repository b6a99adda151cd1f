package site_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cloudqueue/router/admin"
)

func TestAStoreThatHasLostASegmentSaysSoAndWhatToType(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	ams.publish("orders", 1, 50)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 50 })
	ams.stopRouter()
	segments, err := filepath.Glob(filepath.Join(ams.dir(), "data", "spool", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("segments %v, %v", segments, err)
	}
	ams.start() // its CHECKPOINT tells of the segment before
	eventually(t, "the router answers", func() bool { return ams.status().Site == "ams" })
	ams.stopRouter()
	if err := os.Remove(slices.Min(segments)); err != nil {
		t.Fatal(err)
	}
	ams.start()

	eventually(t, "the router answers", func() bool { return ams.status().Site == "ams" })

	s := ams.status().Store
	if s.State != admin.Corrupt || len(s.Quarantined) != 1 || !strings.Contains(s.Reason, "the segment is missing") || !strings.Contains(s.Fix, "cloudqueue spool void --corrupt") {
		t.Errorf("store %+v", s)
	}
}
