package site_test

import (
	"path/filepath"
	"testing"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// atRest gives the store of a site whose router is stopped, as it reads, and the segments that its directory lists.
func (m *member) atRest() (*spool.Spool, []spool.SegmentInfo) {
	t := m.world.t
	t.Helper()
	dir, err := localdir.Open(filepath.Join(m.dir(), "data", "spool"))
	if err != nil {
		t.Fatal(err)
	}
	sp, err := spool.OpenReadOnly(t.Context(), dir, spool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sp.Close(t.Context()) }) // it only reads
	listed, err := dir.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sp, listed
}

func TestACleanStopEndsTheLastSegmentAndLeavesNoneOpenedAhead(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 100)
	ams.receipted("ams/orders", 100)

	ams.stopRouter()
	nyc.stopRouter()

	for _, m := range []*member{ams, nyc} {
		sp, listed := m.atRest()
		segments := sp.Segments()
		for _, s := range segments {
			if !s.Footer {
				t.Errorf("segment %d at %s has no footer", s.Number, m.id)
			}
		}
		if len(listed) != len(segments) {
			t.Errorf("%d files at %s for %d segments: %v", len(listed), m.id, len(segments), listed)
		}
	}
}
