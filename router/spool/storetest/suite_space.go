package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

func testForget(t *testing.T, place Place) {
	s := open(t, place, small())
	fill(t, s, "orders", 1, 200, 4000)
	full := s.Usage().Segments
	s.Forget(lane("orders"), born, 150)
	s.eventually("segments are removed", func() bool { return s.Usage().Segments < full/2 })
	if _, err := s.Read(s.ctx, lane("orders"), born, 1); err != nil {
		t.Fatalf("read from 1: %v", err)
	}
	if got := s.Extents(); len(got) != 1 || got[0].First != 151 || got[0].Last != 200 {
		t.Fatalf("extents %+v, want 151 to 200", got)
	}
	s.Forget(lane("orders"), born, 200)
	s.eventually("all but the open segments are removed", func() bool { return s.Usage().Segments <= 2 })
	s.close()
	s = open(t, place, small())
	if got := s.Highest(lane("orders"), born); got != 200 {
		t.Fatalf("highest offset ever stored %d, want 200", got)
	}
	s.close()
}

func testClean(t *testing.T, place Place) {
	s := open(t, place, small())
	want := map[federation.Offset]*federation.Batch{}
	for i := federation.Offset(1); i <= 300; i++ { // every segment gets a few batches of the lane that stays
		s.commit(batchRecord(t, "busy", i, 1, 4000))
		if i%10 == 0 {
			b := batch(t, "dead", i/10, 1, 500)
			want[i/10] = b
			s.commit(spool.BatchRecord{Batch: b}, parkRecord("dead", i, 200))
		}
	}
	before := s.Usage()
	s.Forget(lane("busy"), born, 300)
	s.eventually("pinned segments are cleaned", func() bool { return s.Usage().Used < before.Used/4 })
	for range 2 {
		for first, b := range want {
			got, err := s.Read(s.ctx, lane("dead"), born, first)
			if err != nil || !bytes.Equal(got.Bytes(), b.Bytes()) {
				t.Fatalf("read %d after cleaning: %v", first, err)
			}
		}
		if got := s.Parked(); len(got) != 30 {
			t.Fatalf("%d parked, want 30", len(got))
		}
		checkPark(t, s, parkRecord("dead", 300, 200))
		s.close()
		s = open(t, place, small())
	}
	s.close()
}

func testQuota(t *testing.T, place Place) {
	cfg := spool.Config{SegmentSize: 64 << 10, Quota: 1 << 20, LaneQuota: 1 << 20}
	s := open(t, place, cfg)
	var last federation.Offset
	var err error
	for last < 1000 && err == nil {
		last++
		err = s.Commit(s.ctx, batchRecord(t, "orders", last, 1, 4000))
	}
	if !errors.Is(err, spool.ErrFull) || !s.Usage().Full {
		t.Fatalf("after %d batches: %v, usage %+v; want ErrFull", last, err, s.Usage())
	}
	if err := s.Commit(s.ctx, parkRecord("orders", 1, 4000)); !errors.Is(err, spool.ErrFull) {
		t.Fatalf("park: %v, want ErrFull", err)
	}
	for i := range 5000 { // far more bytes than the reserve: segments of marks alone go away by themselves
		s.commit(markRecord("orders", fmt.Sprintf("%0200d", i)))
	}
	if u := s.Usage(); u.Used > u.Quota {
		t.Fatalf("used %d of %d", u.Used, u.Quota)
	}
	s.Forget(lane("orders"), born, last)
	s.eventually("there is room again", func() bool { return !s.Usage().Full })
	s.commit(batchRecord(t, "orders", last, 1, 4000))
	s.close()
}

func testLaneQuota(t *testing.T, place Place) {
	cfg := small()
	cfg.LaneQuota = 20_000
	s := open(t, place, cfg)
	fill(t, s, "orders", 1, 4, 4000)
	if err := s.Commit(s.ctx, batchRecord(t, "orders", 5, 1, 4000)); !errors.Is(err, spool.ErrLaneFull) {
		t.Fatalf("fifth batch: %v, want ErrLaneFull", err)
	}
	s.commit(batchRecord(t, "stock", 1, 1, 4000), markRecord("orders", "has room"))
	s.Forget(lane("orders"), born, 2)
	s.commit(batchRecord(t, "orders", 5, 1, 4000))
	s.close()
}

// testFits refuses a large batch while small ones fit. Until that one fits the spool says that it is full.
func testFits(t *testing.T, place Place) {
	s := open(t, place, spool.Config{SegmentSize: 64 << 10, Quota: 1 << 20, LaneQuota: 1 << 20})
	const large, little = 100 << 10, 4000
	var last federation.Offset
	for last < 1000 && s.Fits(batchRecord(t, "orders", last+1, 1, large)) == nil {
		last++
		s.commit(batchRecord(t, "orders", last, 1, large))
	}
	refused := batchRecord(t, "orders", last+1, 1, large)
	if err := s.Commit(s.ctx, refused); !errors.Is(err, spool.ErrFull) || !s.Usage().Full {
		t.Fatalf("batch %d, which does not fit: %v, usage %+v; want ErrFull", last+1, err, s.Usage())
	}
	for i := federation.Offset(1); s.Fits(batchRecord(t, "stock", i, 1, little)) == nil; i++ {
		s.commit(batchRecord(t, "stock", i, 1, little))
		if err := s.Fits(refused); !errors.Is(err, spool.ErrFull) || !s.Usage().Full {
			t.Fatalf("with less room the batch that was refused fits: %v, usage %+v", err, s.Usage())
		}
	}
	s.Forget(lane("orders"), born, last)
	s.eventually("there is room for what was refused", func() bool { return !s.Usage().Full && s.Fits(refused) == nil })
	s.commit(refused)
	if err := s.Commit(s.ctx, batchRecord(t, "orders", last+2, 1, 1<<20)); !errors.Is(err, federation.ErrTooLarge) {
		t.Fatalf("a batch that never fits: %v, want ErrTooLarge", err)
	}
	s.close()
}
