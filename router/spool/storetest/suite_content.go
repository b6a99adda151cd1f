package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"github.com/google/go-cmp/cmp"
)

func testRead(t *testing.T, place Place) {
	s := open(t, place, small())
	var want []*federation.Batch
	for first := federation.Offset(1); first <= 300; first += 3 {
		b := batch(t, "orders", first, 3, 700)
		want = append(want, b)
		s.commit(spool.BatchRecord{Batch: b}, batchRecord(t, "stock", first, 3, 10))
	}
	checkBatches(t, s, "orders", want)
	for _, c := range []struct{ from, first federation.Offset }{{1, 1}, {2, 1}, {3, 1}, {4, 4}, {150, 148},
		{300, 298}} {
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
		s.commit(markRecord("orders", fmt.Sprint("first ", i)), markRecord("orders", fmt.Sprint("second ", i)),
			batchRecord(t, "fill", federation.Offset(i+1), 1, 4000))
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
