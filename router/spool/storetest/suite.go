package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
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
		{"WhatWasRefusedLeavesTheSpoolFullUntilItFits", testFits},
		{"ParkedMessagesStayUntilUnparked", testParking},
		{"SubmissionsBecomeDurableInOrder", testOrder},
		{"TheStoreKeepsTheContractOfSegments", testSegmentsContract},
		{"ReadOnlySeesEverythingAndChangesNothing", testReadOnly},
		{"AuditsAreKept", testAudits},
		{"LaneAndVoidMarksStayInCheckpoints", testLaneMarks},
		{"EveryOpeningSaysInARecoveredWhereItWentOn", testRecovered},
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
	want := []*federation.Batch{batch(t, "orders", 1, 3, 100), batch(t, "orders", 4, 1, 5000),
		batch(t, "orders", 5, 2, 10)}
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
		if last.Epoch != 0 && (got.Home != last.Home || got.Store != last.Store || !got.Born.Equal(last.Born)) {
			t.Fatalf("identity %v after %v", got, last)
		}
		last = got
		s.close()
	}
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
