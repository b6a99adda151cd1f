package storetest

import (
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"

	"github.com/google/go-cmp/cmp"
)

// laneAndVoid are the marks of a lane's origin, as it writes them.
func laneAndVoid(voided federation.Offset) []spool.Record {
	member := federation.Membership{Destination: nyc, Join: 1}
	began := federation.LaneMark{Generation: born, Shards: 1, Members: []federation.Membership{member}}
	voids := federation.VoidMark{Voids: []federation.Void{{Span: federation.Span{First: voided, Last: voided},
		Reason: "corrupt", Who: "admin", At: time.UnixMilli(1_764_534_000_000).UTC()}}}
	return []spool.Record{
		spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLane, Lane: lane("orders")},
			Value: began.Encode()},
		spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkVoid, Lane: lane("orders"), Generation: born},
			Value: voids.Encode()},
	}
}

// testLaneMarks writes LANE and VOID marks, and so much behind them that the segment in which they stood is removed:
// from there on only the CHECKPOINTs of later segments have them.
func testLaneMarks(t *testing.T, place Place) {
	s := open(t, place, small())
	want := laneAndVoid(3)
	s.commit(laneAndVoid(2)...)
	s.commit(want...)
	fill(t, s, "fill", 1, 100, 4000)
	s.Forget(lane("fill"), born, 100)
	s.eventually("cleaned", func() bool { return s.Usage().Segments <= 3 })
	for range 3 {
		for _, r := range want {
			mark := r.(spool.MarkRecord)
			if got, _ := s.Mark(mark.Key); string(got) != string(mark.Value) {
				t.Fatalf("mark of kind %d is %x, want %x", mark.Key.Kind, got, mark.Value)
			}
		}
		s.close()
		s = open(t, place, small())
	}
	s.close()
	if stands := countRecords(t, place); stands["MARK"] != 0 || stands["CHECKPOINT"] == 0 {
		t.Fatalf("%v: the marks stand elsewhere than in CHECKPOINTs", stands)
	}
}

// testRecovered: every opening says in a RECOVERED, durably, with which LSN the log went on; what is committed
// afterwards is no part of it and stays.
func testRecovered(t *testing.T, place Place) {
	var batches []*federation.Batch
	for opening := federation.Offset(1); opening <= 3; opening++ {
		s := open(t, place, small())
		b := batch(t, "orders", opening, 1, 3000) // most of its segment: cleaning leaves it where it stands
		batches = append(batches, b)
		s.commit(spool.BatchRecord{Batch: b})
		checkBatches(t, s, "orders", batches)
		s.close()
		stands := countRecords(t, place)
		if diff := cmp.Diff(map[string]int{"RECOVERED": int(opening), "BATCH": int(opening)},
			pick(stands, "RECOVERED", "BATCH")); diff != "" {
			t.Fatalf("after opening %d (-want +got):\n%s%s", opening, diff, Dump(place))
		}
	}
}

// countRecords counts what stands in a closed place's segments by its type; the mark that every opening writes apart
// from the others.
func countRecords(t *testing.T, place Place) map[string]int {
	t.Helper()
	store, err := place.Open()
	if err != nil {
		t.Fatal(err)
	}
	infos, err := store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, info := range infos {
		err := spool.Walk(t.Context(), store, info.Number, func(e spool.WalkedRecord) error {
			if m, ok := e.Record.(spool.MarkRecord); ok && m.Key.Kind == federation.MarkOpenings {
				count["OPENINGS"]++
				return nil
			}
			count[e.Type]++
			return nil
		}, func(c *spool.CorruptError) { t.Error(c) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return count
}

func pick(count map[string]int, types ...string) map[string]int {
	picked := map[string]int{}
	for _, kind := range types {
		picked[kind] = count[kind]
	}
	return picked
}
