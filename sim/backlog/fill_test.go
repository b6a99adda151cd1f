package backlog

import (
	"path/filepath"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

var (
	orders = federation.Lane{Origin: "ams", Route: "orders"}
	nyc    = federation.Destination{Site: "nyc"}
)

func TestFillLeavesBatchesThatASpoolReads(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if _, err := localdir.Init(dir, spool.Home{Site: "ams", Federation: "acme"}, time.Now()); err != nil {
		t.Fatal(err)
	}

	stored, err := Fill(t.Context(), dir, orders, nyc, 3<<20)
	if err != nil {
		t.Fatal(err)
	}

	store, err := localdir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log, err := spool.OpenReadOnly(t.Context(), store, spool.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(t.Context())
	extents := log.Extents()
	if len(extents) != 1 || extents[0].First != 1 || uint64(extents[0].Last) != stored.Messages || stored.Bytes < 3<<20 {
		t.Errorf("stored %+v, extents %+v", stored, extents)
	}
	if _, ok := log.Mark(federation.MarkKey{Kind: federation.MarkLane, Lane: orders}); !ok {
		t.Error("the lane has no mark")
	}
}
