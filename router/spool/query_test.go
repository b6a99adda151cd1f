package spool_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// fill commits one batch, mark and parked message of each of some lanes.
func fill(t *testing.T, s *session, lanes int) {
	t.Helper()
	var records []spool.Record
	for i := range lanes {
		name := fmt.Sprintf("other%d", i)
		records = append(records, spool.BatchRecord{Batch: sealed(t, name, 1, 1, 10)}, spool.MarkRecord{Key: receipt(name), Value: []byte("seen")}, parked(name, 1, 10))
	}
	s.commit(records...)
}

func TestWhatALaneAsksIsWhatTheListsSayOfIt(t *testing.T) {
	s := start(t, memstore.New(memstore.Options{}), small())
	fill(t, s, 3)
	s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 3, 10)}, spool.MarkRecord{Key: receipt("orders"), Value: []byte("1")}, parked("orders", 3, 10), parked("orders", 2, 10))
	dropped := parked("other1", 1, 10)
	s.commit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("2")}, spool.UnparkRecord{Park: dropped.ID(), Outcome: "dropped"})

	for _, name := range []string{"orders", "other0", "other1", "nothing"} {
		var extents []spool.Extent
		for _, e := range s.Extents() {
			if e.Lane == lane(name) {
				extents = append(extents, e)
			}
		}
		marks := map[federation.MarkKey][]byte{}
		for key, value := range s.Marks(federation.MarkReceipt) {
			if key.Lane == lane(name) {
				marks[key] = value
			}
		}
		var messages []spool.ParkedInfo
		for _, p := range s.Parked() {
			if p.ID.Lane == lane(name) {
				messages = append(messages, p)
			}
		}
		if diff := cmp.Diff(extents, s.ExtentsOf(lane(name))); diff != "" {
			t.Errorf("extents of %s (-list +lane):\n%s", name, diff)
		}
		if diff := cmp.Diff(marks, s.MarksOf(federation.MarkReceipt, lane(name))); diff != "" {
			t.Errorf("marks of %s (-list +lane):\n%s", name, diff)
		}
		if diff := cmp.Diff(messages, s.ParkedOf(lane(name))); diff != "" {
			t.Errorf("parked of %s (-list +lane):\n%s", name, diff)
		}
	}
	if p := s.ParkedOf(lane("orders")); len(p) != 2 || p[0].ID.Offset != 2 {
		t.Errorf("parked messages of orders: %+v", p)
	}
	s.close()
}

func TestWhatALaneAsksCostsTheSameHoweverManyOthersThereAre(t *testing.T) {
	s := start(t, memstore.New(memstore.Options{}), small())
	fill(t, s, 1)
	ask := func() {
		s.ExtentsOf(lane("other0"))
		s.MarksOf(federation.MarkReceipt, lane("other0"))
		s.ParkedOf(lane("other0"))
	}
	alone := testing.AllocsPerRun(100, ask)

	for range 10 {
		fill(t, s, 200)
	}

	if among := testing.AllocsPerRun(100, ask); among > alone {
		t.Errorf("%v allocations among 200 lanes, %v alone", among, alone)
	}
	s.close()
}
