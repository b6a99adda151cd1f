package federation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// freshJournal is of a destination that joined at 1 and has reserved, durably, up to reserved.
func freshJournal(t *testing.T, reserved Offset) *JournalState {
	t.Helper()
	s := NewJournalState(100)
	if got := s.Adopt(Sync{Join: 1, FirstStore: true}); got != AdoptedFresh {
		t.Fatalf("adopt: %d, want fresh", got)
	}
	s.Reserve(reserved, 0)
	s.Committed(s.Mark())
	return s
}

func restore(t *testing.T, j Journal, parked ...Offset) *JournalState {
	t.Helper()
	s, err := RestoreJournal(j, parked, 100)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantSteps(t *testing.T, s *JournalState, from Offset, seal Epoch, want ...Step) {
	t.Helper()
	for i, w := range want {
		if got := s.Take(from+Offset(i), seal); got != w {
			t.Errorf("take %d of epoch %d: step %d, want %d", from+Offset(i), seal, got, w)
		}
	}
}

func wantJudgement(t *testing.T, s *JournalState, span Span, seal Epoch, want Verdict) {
	t.Helper()
	if got := s.Judge(span, seal); got != want {
		t.Errorf("batch %d to %d of epoch %d: %v, want %v", span.First, span.Last, seal, got, want)
	}
}

func TestNothingIsTakenWithoutAJournal(t *testing.T) {
	s := NewJournalState(10)
	wantSteps(t, s, 1, 1, StepWait)
	if s.Known() || s.Changed() {
		t.Error("there is a journal before any answer")
	}
}

func TestNothingIsPublishedAboveTheDurableReserved(t *testing.T) {
	s := freshJournal(t, 2)
	wantSteps(t, s, 1, 1, StepPublish, StepPublish, StepReserve)
	if !s.Reserve(4, 0) {
		t.Fatal("no mark is due")
	}
	mark := s.Mark()
	wantSteps(t, s, 3, 1, StepReserve) // submitted is not durable
	s.Committed(mark)
	wantSteps(t, s, 3, 1, StepPublish, StepPublish, StepReserve)
}

func TestALookTakesNothing(t *testing.T) {
	s := freshJournal(t, 1)
	before := s.Mark()
	for range 2 {
		if got := s.Look(1, 1); got != StepPublish {
			t.Errorf("look at 1: step %d, want %d", got, StepPublish)
		}
	}
	if got := s.Look(2, 1); got != StepWait {
		t.Errorf("look at 2: step %d, want %d", got, StepWait)
	}
	if diff := cmp.Diff(before, s.Mark()); diff != "" || s.Next() != 1 || s.Unfinished() != 0 {
		t.Errorf("after a look: next %d, unfinished %d, mark (-want +got):\n%s", s.Next(), s.Unfinished(), diff)
	}
	wantSteps(t, s, 1, 1, StepPublish, StepReserve)
}

func TestOffsetsAreTakenInOrderWithinTheLimit(t *testing.T) {
	s := NewJournalState(2)
	s.Adopt(Sync{Join: 1, FirstStore: true})
	s.Reserve(10, 0)
	s.Committed(s.Mark())
	wantSteps(t, s, 2, 1, StepWait)
	wantSteps(t, s, 1, 1, StepPublish, StepPublish, StepWait)
	wantSteps(t, s, 1, 1, StepPast)
	s.End(1, EndDelivered)
	wantSteps(t, s, 3, 1, StepPublish)
}

func TestDoneIsTheFinishedPrefix(t *testing.T) {
	s := freshJournal(t, 10)
	wantSteps(t, s, 1, 1, StepPublish, StepPublish, StepPublish, StepPublish, StepPublish)
	s.End(2, EndParked)
	s.End(3, EndExpired)
	if done := s.Mark().Done; done != 0 {
		t.Fatalf("done %d while 1 is unfinished", done)
	}
	s.End(1, EndDelivered)
	s.End(5, EndExcluded)

	want := Journal{Join: 1, Done: 3, Reserved: 10, Counters: Counters{Delivered: 1, Parked: 1, Expired: 1}, Seals: []SealPoint{{1, 1}}}
	if diff := cmp.Diff(want, s.Mark()); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if durable := s.Durable().Done; durable != 0 {
		t.Errorf("durable done %d before the mark is durable", durable)
	}
	s.Committed(s.Mark())
	if durable := s.Durable().Done; durable != 3 {
		t.Errorf("durable done %d, want 3", durable)
	}
}

func TestEachOffsetEndsOnce(t *testing.T) {
	s := freshJournal(t, 10)
	wantSteps(t, s, 1, 1, StepPublish, StepPublish)
	for i, want := range []bool{true, false} {
		if got := s.End(2, EndDelivered); got != want {
			t.Errorf("end %d of offset 2: %t, want %t", i+1, got, want)
		}
	}
	if s.End(3, EndDelivered) || s.End(0, EndDelivered) || s.Fail(2) || s.Retry(1) {
		t.Error("an offset that waits for nothing took an outcome")
	}
}

func TestFailedOffsetsArePublishedAgainFlaggedBeforeAnythingElse(t *testing.T) {
	s := freshJournal(t, 10)
	wantSteps(t, s, 1, 1, StepPublish, StepPublish, StepPublish)
	s.Fail(3)
	s.Fail(1)
	wantSteps(t, s, 4, 1, StepWait)
	if diff := cmp.Diff([]Offset{1, 3}, s.Failed()); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	s.Retry(1)
	s.Retry(3)
	wantSteps(t, s, 4, 1, StepPublish)
	s.End(1, EndDelivered)
	s.End(2, EndDelivered)
	s.End(3, EndExpired)
	want := Counters{Delivered: 2, Expired: 1, Flagged: 1, Uncertain: 1}
	if diff := cmp.Diff(want, s.Mark().Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestARestartSkipsFlagsAndPassesWhatTheMarkSays(t *testing.T) {
	s := restore(t, Journal{Join: 1, Done: 5, Reserved: 8, Counters: Counters{Delivered: 5}}, 3, 7)
	wantSteps(t, s, 5, 1, StepPast, StepFlagged, StepParked, StepFlagged, StepReserve)
	s.Reserve(9, 0)
	s.Committed(s.Mark())
	wantSteps(t, s, 9, 1, StepPublish)
	for n := Offset(6); n < 10; n++ {
		s.End(n, EndDelivered)
	}
	want := Counters{Delivered: 8, Parked: 1, Flagged: 2}
	if diff := cmp.Diff(want, s.Mark().Counters); diff != "" {
		t.Errorf("counters (-want +got):\n%s", diff)
	}
}

func TestAContradictoryMarkIsRefused(t *testing.T) {
	for name, j := range map[string]Journal{
		"unbalanced":          {Join: 1, Done: 5, Reserved: 8, Counters: Counters{Delivered: 4}},
		"reserved below done": {Join: 1, Done: 5, Reserved: 4, Counters: Counters{Delivered: 5}},
		"no join":             {},
		"seals go down":       {Join: 1, Done: 0, Reserved: 0, Seals: []SealPoint{{2, 1}, {1, 2}}},
	} {
		if _, err := RestoreJournal(j, nil, 10); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v, want %v", name, err, ErrCorrupt)
		}
	}
}

func TestCleanStopReservesWhatAnEarlierProcessMayHavePublished(t *testing.T) {
	// Given reserved 8 at the start, of which 6 were done again.
	s := restore(t, Journal{Join: 1, Done: 5, Reserved: 8, Counters: Counters{Delivered: 5}})
	wantSteps(t, s, 6, 1, StepFlagged)
	if _, ok := s.Stop(); ok {
		t.Fatal("stopped with a publish unconfirmed")
	}
	s.End(6, EndDelivered)
	j, ok := s.Stop()
	if !ok || j.Reserved != 8 || j.Done != 6 {
		t.Errorf("stop: %t, done %d, reserved %d; want 6, 8", ok, j.Done, j.Reserved)
	}
	wantSteps(t, s, 7, 1, StepWait)
}

func TestCleanStopLowersReservedOnceDoneHasReachedTheOneFound(t *testing.T) {
	s := restore(t, Journal{Join: 1, Done: 5, Reserved: 8, Counters: Counters{Delivered: 5}})
	s.Reserve(500, 0)
	s.Committed(s.Mark())
	for n := Offset(6); n <= 20; n++ {
		s.Take(n, 1)
		s.End(n, EndDelivered)
	}
	j, ok := s.Stop()
	if !ok || j.Reserved != 20 || j.Done != 20 {
		t.Fatalf("stop: %t, done %d, reserved %d; want 20, 20", ok, j.Done, j.Reserved)
	}
	next := restore(t, j)
	next.Reserve(21, 0)
	next.Committed(next.Mark())
	wantSteps(t, next, 21, 1, StepPublish)
}

func TestReservedRunsAheadByATenthOfASecondAndNeverOnASlowLane(t *testing.T) {
	cases := []struct {
		name      string
		reserved  Offset // and 100 taken
		received  Offset
		perSecond float64
		want      Offset // 0: no mark is due
	}{
		{"slow: what is received", 100, 140, 50, 140},
		{"slow, received is reserved", 140, 140, 50, 0},
		{"slow, one more received", 100, 101, 0, 101},
		{"slow, half of it is still ahead", 130, 140, 50, 0},
		{"slow, much is received", 100, 9000, 0, 100 + SlowAhead},
		{"fast: a tenth of a second ahead", 100, 140, 4000, 500},
		{"fast, more than half is left", 301, 140, 4000, 0},
		{"fast, half is used", 300, 140, 4000, 500},
		{"fast, and still more is received", 100, 9000, 4000, 500},
		{"hardly fast", 100, 140, 200, 100 + leastAhead},
		{"a rate that cannot be", 100, 140, 1e18, 100 + maxReserve},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := restore(t, Journal{Join: 1, Done: 100, Reserved: c.reserved, Counters: Counters{Delivered: 100}})
			due := s.Reserve(c.received, c.perSecond)
			if got := s.Mark().Reserved; due != (c.want > 0) || due && got != c.want {
				t.Errorf("due %t, reserved %d; want %d", due, got, c.want)
			}
		})
	}
}

func TestConflictIsAnythingButWhatWasTakenUnderTheseOffsets(t *testing.T) {
	// Given 1–4 of epoch 10, 5–8 of 20, 9–12 of 30, all done, and 13 of 30 published.
	s := freshJournal(t, 50)
	for n := Offset(1); n <= 13; n++ {
		s.Take(n, Epoch(10*((n-1)/4+1)-10*(n/13)))
		if n < 13 {
			s.End(n, EndDelivered)
		}
	}
	wantJudgement(t, s, Span{1, 4}, 10, DupOK)
	wantJudgement(t, s, Span{5, 8}, 20, DupOK)
	wantJudgement(t, s, Span{5, 8}, 10, Conflict) // of the abandoned branch
	wantJudgement(t, s, Span{5, 8}, 30, Conflict) // of the later one
	wantJudgement(t, s, Span{3, 6}, 10, Conflict)
	wantJudgement(t, s, Span{9, 14}, 30, OK)
	wantJudgement(t, s, Span{13, 14}, 30, OK)
	wantJudgement(t, s, Span{13, 14}, 40, Conflict) // 13 was published of epoch 30
	wantJudgement(t, s, Span{14, 15}, 40, OK)
	wantJudgement(t, s, Span{14, 15}, 29, Conflict)
	wantSteps(t, s, 14, 29, StepConflict)
}

func TestOnlyTheLastFourSealPointsAreRemembered(t *testing.T) {
	s := freshJournal(t, 50)
	for n := Offset(1); n <= 6; n++ {
		s.Take(n, Epoch(n*10))
		s.End(n, EndDelivered)
	}
	if diff := cmp.Diff([]SealPoint{{30, 3}, {40, 4}, {50, 5}, {60, 6}}, s.Mark().Seals); diff != "" {
		t.Errorf("seal points (-want +got):\n%s", diff)
	}
	wantJudgement(t, s, Span{1, 1}, 10, DupOK)
	wantJudgement(t, s, Span{2, 2}, 30, DupOK) // not later than the oldest that is remembered
	wantJudgement(t, s, Span{2, 2}, 31, Conflict)
	wantJudgement(t, s, Span{2, 3}, 30, DupOK)
	wantJudgement(t, s, Span{2, 3}, 20, Conflict)
}

func TestSealPointsSurviveARestart(t *testing.T) {
	// Given 1–3 of epoch 10 done; 4 of 10 and 5 of 20 were published before the crash.
	before := freshJournal(t, 50)
	for n, seal := range []Epoch{10, 10, 10, 10, 20} {
		before.Take(Offset(n+1), seal)
		if n < 3 {
			before.End(Offset(n+1), EndDelivered)
		}
	}
	s := restore(t, must(ParseJournal(before.Mark().Encode())))
	wantJudgement(t, s, Span{1, 3}, 20, Conflict)
	wantJudgement(t, s, Span{4, 4}, 10, OK) // it comes again, before the point of epoch 20
	wantJudgement(t, s, Span{5, 6}, 10, Conflict)
	wantSteps(t, s, 4, 10, StepFlagged)
	wantSteps(t, s, 5, 20, StepFlagged)
	// Had the origin been put back, the later branch would begin at 4 too.
	s = restore(t, before.Mark())
	wantSteps(t, s, 4, 30, StepFlagged)
	if diff := cmp.Diff([]SealPoint{{10, 1}, {30, 4}}, s.Mark().Seals); diff != "" {
		t.Errorf("seal points of the later branch (-want +got):\n%s", diff)
	}
}

func receiptOf(join, done Offset, c Counters) Receipt {
	return Receipt{Destination: sampleDest, Join: join, Done: done, Counters: c}
}

func TestAdopt(t *testing.T) {
	eight := receiptOf(3, 10, Counters{Delivered: 6, Parked: 2})
	cases := []struct {
		name     string
		answer   Sync
		want     Adoption
		wantMark Journal
	}{
		{"the first store begins at its join, unflagged",
			Sync{Join: 5, LastAssigned: 90, FirstStore: true}, AdoptedFresh,
			Journal{Join: 5, Done: 4, Reserved: 4}},
		{"a new store goes on after the receipt, flagged up to what was assigned",
			Sync{Join: 3, LastAssigned: 90, HasReceipt: true, Receipt: eight}, AdoptedLoss,
			Journal{Join: 3, Done: 10, Reserved: 90, Counters: eight.Counters}},
		{"a new store without a receipt begins at its join, flagged",
			Sync{Join: 5, LastAssigned: 90}, AdoptedLoss,
			Journal{Join: 5, Done: 4, Reserved: 90}},
		{"a new store that joined again counts what it was no member for",
			Sync{Join: 31, LastAssigned: 90, HasReceipt: true, Receipt: eight}, AdoptedLoss,
			Journal{Join: 3, Done: 30, Reserved: 90, Counters: Counters{Delivered: 6, Parked: 2, Excluded: 20}}},
		{"the first store that has a receipt lost its journal: flagged",
			Sync{Join: 3, LastAssigned: 90, FirstStore: true, HasReceipt: true, Receipt: eight}, AdoptedLoss,
			Journal{Join: 3, Done: 10, Reserved: 90, Counters: eight.Counters}},
		{"last assigned below the receipt",
			Sync{Join: 3, LastAssigned: 2, HasReceipt: true, Receipt: eight}, AdoptedLoss,
			Journal{Join: 3, Done: 10, Reserved: 10, Counters: eight.Counters}},
		{"voids that begin at the join are passed, further ones wait",
			Sync{Join: 5, LastAssigned: 90, FirstStore: true, Destination: sampleDest, Voids: []Void{{Span: Span{1, 7}}, {Span: Span{9, 9}},
				{Span: Span{8, 8}, Destinations: []Destination{{Site: "other"}}}}}, AdoptedFresh,
			Journal{Join: 5, Done: 7, Reserved: 7, Counters: Counters{Voided: 3}}},
		{"fenced", Sync{Join: 5, FirstStore: true, Verdict: Fenced}, AdoptRefused, Journal{}},
		{"no member", Sync{FirstStore: true}, AdoptRefused, Journal{}},
		{"a receipt that does not balance", Sync{Join: 3, HasReceipt: true, Receipt: receiptOf(3, 10, Counters{Delivered: 7})}, AdoptRefused, Journal{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := NewJournalState(10)
			if got := s.Adopt(c.answer); got != c.want {
				t.Errorf("adopt: %d, want %d", got, c.want)
			}
			if diff := cmp.Diff(c.wantMark, s.Mark(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("mark (-want +got):\n%s", diff)
			}
			if s.Changed() != (c.want != AdoptRefused) {
				t.Errorf("changed %t after adoption %d", s.Changed(), c.want)
			}
		})
	}
}

func TestAJournalPassesAGapAndCountsIt(t *testing.T) {
	s := restore(t, Journal{Join: 1, Done: 10, Reserved: 12, Counters: Counters{Delivered: 10}, Seals: []SealPoint{{5, 1}}}, 12)
	if got := s.Adopt(Sync{Join: 21, LastAssigned: 90}); got != AdoptedGap {
		t.Errorf("adopt: %d, want a gap", got)
	}
	want := Journal{Join: 1, Done: 20, Reserved: 20, Counters: Counters{Delivered: 10, Parked: 1, Excluded: 9}}
	if diff := cmp.Diff(want, s.Mark(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	if got := s.Adopt(Sync{Join: 21, LastAssigned: 90}); got != AdoptNothing {
		t.Errorf("adopted again: %d, want nothing", got)
	}
}

func TestAGapWaitsForWhatIsUnfinished(t *testing.T) {
	s := freshJournal(t, 10)
	wantSteps(t, s, 1, 1, StepPublish)
	if got := s.Adopt(Sync{Join: 21}); got != AdoptLater {
		t.Errorf("adopt: %d, want later", got)
	}
	s.End(1, EndDelivered)
	if got := s.Adopt(Sync{Join: 21}); got != AdoptedGap {
		t.Errorf("adopt: %d, want a gap", got)
	}
}

func TestAVoidIsPassedWhenEverythingBelowItHasEnded(t *testing.T) {
	s := freshJournal(t, 10)
	wantSteps(t, s, 1, 7, StepPublish, StepPublish)
	s.Adopt(Sync{Join: 1, Destination: sampleDest, Voids: []Void{{Span: Span{3, 5}, Destinations: []Destination{sampleDest}}}})
	wantSteps(t, s, 3, 7, StepWait)
	s.End(1, EndDelivered)
	s.End(2, EndDelivered)
	wantSteps(t, s, 3, 7, StepPast)
	want := Journal{Join: 1, Done: 5, Reserved: 10, Counters: Counters{Delivered: 2, Voided: 3}}
	if diff := cmp.Diff(want, s.Mark(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("mark (-want +got):\n%s", diff)
	}
	wantJudgement(t, s, Span{3, 5}, 8, DupOK) // a copy that was not corrupt arrives after all; its epoch is not known
	wantSteps(t, s, 6, 8, StepPublish)
}
