package spool_test

import (
	"errors"
	"testing"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

func TestAClaimIsWeighedOnceHoweverOftenItIsAsked(t *testing.T) {
	s := start(t, memstore.New(memstore.Options{}), spool.Config{SegmentSize: 64 << 10, Quota: 1 << 20, LaneQuota: 128 << 10})
	s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100<<10)})
	fits, err := s.Claim(spool.BatchRecord{Batch: sealed(t, "orders", 2, 1, 100<<10)})
	if err != nil {
		t.Fatal(err)
	}

	if err := fits(); !errors.Is(err, spool.ErrLaneFull) {
		t.Errorf("%v, want ErrLaneFull", err)
	}
	if got := testing.AllocsPerRun(100, func() { _ = fits() }); got != 0 {
		t.Errorf("each question takes %v allocations", got)
	}
	s.close()
}
