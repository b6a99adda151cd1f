package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"github.com/google/go-cmp/cmp"
)

// Run checks everything that a spool promises, over the places that factory makes: each is empty and initialised.
func Run(t *testing.T, factory func(t *testing.T) Place) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, place Place)
	}{
		{"WhatWasCommittedIsThereAfterAReopening", testReopen},
		{"TheStoreIsHeldByOneOpening", testHeld},
		{"EpochsGrowWithEveryOpening", testEpochs},
		{"ReadGivesTheBatchOrTheNextOne", testRead},
		{"MarksKeepTheHighest", testMarks},
		{"ForgottenSegmentsAreRemoved", testForget},
		{"PinnedSegmentsAreCleaned", testClean},
		{"TheQuotaRefusesBatchesAndTakesMarks", testQuota},
		{"ALaneQuotaRefusesItsLaneAlone", testLaneQuota},
		{"ParkedMessagesStayUntilUnparked", testParking},
		{"SubmissionsBecomeDurableInOrder", testOrder},
		{"TheStoreKeepsTheContractOfSegments", testSegmentsContract},
		{"ReadOnlySeesEverythingAndChangesNothing", testReadOnly},
		{"AuditsAreKept", testAudits},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, factory(t))
		})
	}
	t.Run("ItAgreesWithAModel", func(t *testing.T) {
		t.Parallel()
		testModel(t, factory)
	})
}

func testReopen(t *testing.T, place Place) {
	s := open(t, place, small())
	want := []*federation.Batch{batch(t, "orders", 1, 3, 100), batch(t, "orders", 4, 1, 5000), batch(t, "orders", 5, 2, 10)}
	for _, b := range want {
		s.commit(spool.BatchRecord{Batch: b}, markRecord("orders", fmt.Sprint(b.Header.First)))
	}
	for range 3 {
		last := s.LastLSN()
		s.close()
		s = open(t, place, small())
		if s.LastLSN() < last {
			t.Fatalf("last LSN %d after reopening, %d before", s.LastLSN(), last)
		}
		checkBatches(t, s, "orders", want)
		checkMark(t, s, "orders", "5")
	}
	s.close()
}

func testHeld(t *testing.T, place Place) {
	s := open(t, place, small())
	if _, err := tryOpen(t, place, small()); !errors.Is(err, spool.ErrHeld) {
		t.Fatalf("second opening: %v, want ErrHeld", err)
	}
	s.commit(markRecord("orders", "still writable"))
	s.close()
	open(t, place, small()).close()
}

func testEpochs(t *testing.T, place Place) {
	var last spool.Identity
	for range 3 {
		before := time.Now().UnixMilli()
		s := open(t, place, small())
		got := s.Identity()
		if got.Epoch <= last.Epoch || int64(got.Epoch) < before {
			t.Fatalf("epoch %d after %d, at %d ms", got.Epoch, last.Epoch, before)
		}
		if last.Epoch != 0 && (got.Store != last.Store || !got.Born.Equal(last.Born)) {
			t.Fatalf("identity %v after %v", got, last)
		}
		last = got
		s.close()
	}
}

func testRead(t *testing.T, place Place) {
	s := open(t, place, small())
	var want []*federation.Batch
	for first := federation.Offset(1); first <= 300; first += 3 {
		b := batch(t, "orders", first, 3, 700)
		want = append(want, b)
		s.commit(spool.BatchRecord{Batch: b}, batchRecord(t, "stock", first, 3, 10))
	}
	checkBatches(t, s, "orders", want)
	for _, c := range []struct{ from, first federation.Offset }{{1, 1}, {2, 1}, {3, 1}, {4, 4}, {150, 148}, {300, 298}} {
		got, err := s.Read(s.ctx, lane("orders"), born, c.from)
		if err != nil || got.Header.First != c.first {
			t.Fatalf("read from %d: %v %v, want %d", c.from, got, err, c.first)
		}
	}
	for _, l := range []federation.Lane{lane("orders"), lane("nobody")} {
		if _, err := s.Read(s.ctx, l, born, 301); !errors.Is(err, spool.ErrNone) {
			t.Fatalf("read behind the end of %s: %v", l, err)
		}
	}
	s.close()
	s = open(t, place, small())
	checkBatches(t, s, "orders", want)
	s.close()
}

func testMarks(t *testing.T, place Place) {
	s := open(t, place, small())
	for i := range 50 {
		s.commit(markRecord("orders", fmt.Sprint("first ", i)), markRecord("orders", fmt.Sprint("second ", i)), batchRecord(t, "fill", federation.Offset(i+1), 1, 4000))
		checkMark(t, s, "orders", fmt.Sprint("second ", i))
	}
	s.close()
	s = open(t, place, small())
	checkMark(t, s, "orders", "second 49")
	if got := s.Marks(federation.MarkReceipt); len(got) != 1 || string(got[markKey("orders")]) != "second 49" {
		t.Fatalf("marks %v", got)
	}
	if _, ok := s.Mark(markKey("nobody")); ok {
		t.Fatal("a mark that was never written")
	}
	s.close()
}

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
	cfg := spool.Config{SegmentSize: 64 << 10, Quota: 1 << 20}
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

func testParking(t *testing.T, place Place) {
	s := open(t, place, small())
	for i := federation.Offset(1); i <= 20; i++ {
		s.commit(parkRecord("orders", i, int(i)*100))
	}
	s.commit(unparkRecord("orders", 7), unparkRecord("orders", 8))
	s.commit(parkRecord("orders", 8, 42)) // redriven, and parked again
	for range 2 {
		if got := s.Parked(); len(got) != 19 {
			t.Fatalf("%d parked, want 19", len(got))
		}
		gone := parkRecord("orders", 7, 0)
		if _, err := s.ReadPark(s.ctx, gone.ID()); !errors.Is(err, spool.ErrNone) {
			t.Fatalf("an unparked message: %v, want ErrNone", err)
		}
		checkPark(t, s, parkRecord("orders", 8, 42))
		checkPark(t, s, parkRecord("orders", 20, 2000))
		s.close()
		s = open(t, place, small())
	}
	fill(t, s, "fill", 1, 100, 4000) // several segments on: the PARKs are cleaned away, and do not come back
	s.Forget(lane("fill"), born, 100)
	s.eventually("cleaned", func() bool { return s.Usage().Segments <= 3 })
	s.close()
	s = open(t, place, small())
	if got := s.Parked(); len(got) != 19 {
		t.Fatalf("%d parked after cleaning, want 19", len(got))
	}
	s.close()
}

func testOrder(t *testing.T, place Place) {
	s := open(t, place, small())
	var tickets []*spool.Ticket
	for i := federation.Offset(1); i <= 200; i++ {
		ticket, err := s.Submit(s.ctx, batchRecord(t, "orders", i, 1, 300), markRecord("orders", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	for i := len(tickets) - 1; i >= 0; i-- { // the last one done: all are
		if err := tickets[i].Wait(s.ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tickets[0].Done():
		default:
			t.Fatalf("submission %d is durable and the first is not", i)
		}
	}
	checkMark(t, s, "orders", "200")
	s.close()
}

func testReadOnly(t *testing.T, place Place) {
	s := open(t, place, small())
	fill(t, s, "orders", 1, 50, 4000)
	s.commit(markRecord("orders", "seen"), parkRecord("orders", 9, 100))
	store, err := place.Open()
	if err != nil {
		t.Fatal(err)
	}
	r, err := spool.OpenReadOnly(s.ctx, store, small())
	if err != nil {
		t.Fatalf("open read-only beside a writer: %v", err)
	}
	for offset := federation.Offset(1); offset <= 50; offset++ {
		if b, err := r.Read(s.ctx, lane("orders"), born, offset); err != nil || b.Header.First != offset {
			t.Fatalf("read %d: %v", offset, err)
		}
	}
	if v, _ := r.Mark(markKey("orders")); string(v) != "seen" || len(r.Parked()) != 1 {
		t.Fatalf("mark %q, %d parked", v, len(r.Parked()))
	}
	if err := r.Commit(s.ctx, markRecord("orders", "no")); !errors.Is(err, spool.ErrReadOnly) {
		t.Fatalf("commit: %v, want ErrReadOnly", err)
	}
	if err := r.Close(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.commit(markRecord("orders", "the writer goes on"))
	s.close()
}

func testAudits(t *testing.T, place Place) {
	want := spool.AuditRecord{Who: "admin", What: "said so", At: time.UnixMilli(1_764_534_000_000).UTC()}
	s := open(t, place, small())
	s.commit(want)
	fill(t, s, "fill", 1, 100, 4000)
	s.Forget(lane("fill"), born, 100)
	s.eventually("cleaned", func() bool { return s.Usage().Segments <= 3 })
	s.close()
	s = open(t, place, small())
	if diff := cmp.Diff([]spool.AuditRecord{want}, s.Audits()); diff != "" {
		t.Fatalf("audits (-want +got):\n%s", diff)
	}
	s.close()
}

// fill commits batches of one entry of size bytes, first to last.
func fill(t *testing.T, s *session, name string, first, last federation.Offset, size int) {
	t.Helper()
	for i := first; i <= last; i++ {
		s.commit(batchRecord(t, name, i, 1, size))
	}
}

// eventually waits for what the keeper does in the background.
func (s *session) eventually(what string, done func() bool) {
	s.t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-s.ctx.Done():
			s.t.Fatalf("%s: not within %v; usage %+v, health %+v", what, patience, s.Usage(), s.Health())
		}
	}
}

func checkBatches(t *testing.T, s *session, name string, want []*federation.Batch) {
	t.Helper()
	from := federation.Offset(1)
	for _, w := range want {
		got, err := s.Read(s.ctx, lane(name), born, from)
		if err != nil {
			t.Fatalf("read %s from %d: %v", name, from, err)
		}
		if !bytes.Equal(got.Bytes(), w.Bytes()) {
			t.Fatalf("read %s from %d: batch %s, want %s", name, from, got.Header.Name(), w.Header.Name())
		}
		from = got.Header.Last() + 1
	}
	if b, err := s.Read(context.Background(), lane(name), born, from); !errors.Is(err, spool.ErrNone) {
		t.Fatalf("read %s from %d: %v %v, want ErrNone", name, from, b, err)
	}
}

func checkMark(t *testing.T, s *session, name, want string) {
	t.Helper()
	if got, _ := s.Mark(markKey(name)); string(got) != want {
		t.Fatalf("mark of %s is %q, want %q", name, got, want)
	}
}

func checkPark(t *testing.T, s *session, want spool.ParkRecord) {
	t.Helper()
	got, err := s.ReadPark(s.ctx, want.ID())
	if err != nil {
		t.Fatalf("read the parked message %d: %v", want.Offset, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("parked message %d (-want +got):\n%s", want.Offset, diff)
	}
}
