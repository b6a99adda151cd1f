package federation

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	start  = time.UnixMilli(1764534000000).UTC()
	storeA = StoreID{0xA}
	storeB = StoreID{0xB}
	storeC = StoreID{0xC}
	bornA  = start
	bornB  = start.Add(time.Hour)
	bornC  = start.Add(2 * time.Hour)
)

func newLedger(join Offset) *Ledger {
	return NewLedger(Membership{Destination: sampleDest, Join: join}, nil, DestMark{}, anyGivenUp, start)
}

// anyGivenUp is of a lane that gave everything up.
func anyGivenUp(Offset) bool { return true }

// word is a receipt of store A with everything delivered.
func word(join, done Offset) Receipt {
	return Receipt{Destination: sampleDest, Store: storeA, Born: bornA, Join: join, Done: done, Counters: Counters{Delivered: uint64(done + 1 - join)}}
}

func wantNext(t *testing.T, l *Ledger, durable, want Offset, wantOK bool) {
	t.Helper()
	if got, ok := l.Next(durable); got != want || ok != wantOK {
		t.Errorf("next with %d durable: %d, %t; want %d, %t", durable, got, ok, want, wantOK)
	}
}

func wantReceipt(t *testing.T, l *Ledger, r Receipt, want ReceiptResult) {
	t.Helper()
	if got := l.Accept(r, 100, start); got != want {
		t.Errorf("receipt %d to %d of %s: %v, want %v", r.Join, r.Done, r.Store, got, want)
	}
}

func TestLedgerSendsInOrderAndOnlyWhatIsDurable(t *testing.T) {
	l := newLedger(5)
	wantNext(t, l, 4, 5, false)
	wantNext(t, l, 9, 5, true)
	l.Sent(Span{5, 9}, 1, start)
	wantNext(t, l, 9, 10, false)
	wantNext(t, l, 20, 10, true)
}

func TestLedgerSendsAgainWhatWasRefusedOrLost(t *testing.T) {
	l := newLedger(1)
	l.Sent(Span{1, 4}, 1, start)
	l.Sent(Span{5, 8}, 1, start)
	l.Sent(Span{9, 12}, 1, start)
	l.Lost(Span{5, 8})
	wantNext(t, l, 12, 5, true)
	l.Sent(Span{5, 8}, 1, start)
	wantNext(t, l, 12, 13, false)
}

func TestLedgerForgetsOnDurableReceiptsAlone(t *testing.T) {
	l := newLedger(1)
	l.Sent(Span{1, 20}, 1, start)
	wantReceipt(t, l, word(1, 8), ReceiptTaken)
	if l.Settled() != 0 || l.Forgettable() != 0 {
		t.Errorf("settled %d, forgettable %d before the mark is durable, want 0", l.Settled(), l.Forgettable())
	}
	l.Settle(8)
	if l.Settled() != 8 || l.Forgettable() != 8 {
		t.Errorf("settled %d, forgettable %d, want 8", l.Settled(), l.Forgettable())
	}
}

func TestLedgerAcceptsReceiptsOnceAndInAnyOrder(t *testing.T) {
	l := newLedger(1)
	wantReceipt(t, l, word(1, 8), ReceiptTaken)
	wantReceipt(t, l, word(1, 8), ReceiptKnown)
	wantReceipt(t, l, word(1, 3), ReceiptKnown)
	wantReceipt(t, l, word(1, 9), ReceiptTaken)
	if l.Done() != 9 {
		t.Errorf("done %d, want 9", l.Done())
	}
}

func TestLedgerRefusesReceiptsThatCannotBe(t *testing.T) {
	unbalanced := word(1, 8)
	unbalanced.Counters.Parked = 1
	other := word(1, 8)
	other.Destination.Target = 7
	l := newLedger(1)
	wantReceipt(t, l, unbalanced, ReceiptUnbalanced)
	wantReceipt(t, l, Receipt{Destination: sampleDest, Store: storeA, Born: bornA}, ReceiptUnbalanced)
	wantReceipt(t, l, word(1, 101), ReceiptAhead)
	wantReceipt(t, l, other, ReceiptNotMember)
	wantReceipt(t, NewLedger(Membership{Destination: sampleDest}, nil, DestMark{}, anyGivenUp, start), word(1, 8), ReceiptNotMember)
	if l.Done() != 0 {
		t.Errorf("done %d after refused receipts alone", l.Done())
	}
}

func TestLedgerKeepsTheFirstStoreAndFencesOlderOnes(t *testing.T) {
	l := newLedger(1)
	for _, step := range []struct {
		store StoreID
		born  time.Time
		want  AskResult
	}{{storeA, bornA, AskNewStore}, {storeA, bornA, AskKnown}, {storeB, bornB, AskNewStore}, {storeA, bornA, AskFenced}, {storeC, bornC, AskNewStore}, {storeB, bornB, AskFenced}} {
		if got := l.Ask(step.store, step.born, start); got != step.want {
			t.Errorf("store %v asks: %d, want %d", step.store[:1], got, step.want)
		}
	}
	if diff := cmp.Diff(DestMark{First: storeA, Newest: storeC, NewestBorn: bornC}, l.Dest()); diff != "" {
		t.Errorf("DEST mark (-want +got):\n%s", diff)
	}
	wantReceipt(t, l, word(1, 8), ReceiptOldStore)
}

func TestLedgerFencesAcrossRestarts(t *testing.T) {
	before := newLedger(1)
	before.Ask(storeA, bornA, start)
	before.Ask(storeB, bornB, start)
	after := NewLedger(before.Membership(), nil, before.Dest(), anyGivenUp, start)
	if got := after.Ask(storeA, bornA, start); got != AskFenced {
		t.Errorf("the older store asks after a restart: %d, want fenced", got)
	}
}

func TestSyncAnswerWaitsForTheMarksItTellsOf(t *testing.T) {
	l := newLedger(3)
	tell := func(want bool) (s Sync) {
		t.Helper()
		if got := l.Tell(&s, storeA); got != want {
			t.Errorf("tell: %t, want %t", got, want)
		}
		return s
	}
	l.Ask(storeA, bornA, start)
	tell(false)
	l.SettleDest(l.Dest())
	if diff := cmp.Diff(Sync{Destination: sampleDest, Join: 3, FirstStore: true, Receipt: Receipt{Done: 2}}, tell(true)); diff != "" {
		t.Errorf("answer to a fresh destination (-want +got):\n%s", diff)
	}
	wantReceipt(t, l, word(3, 8), ReceiptTaken)
	tell(false)
	l.Settle(8)
	if s := tell(true); !s.HasReceipt || s.Receipt.Done != 8 {
		t.Errorf("answer has receipt %t, done %d, want 8", s.HasReceipt, s.Receipt.Done)
	}
}

func TestANewStoreIsSentAgainWhatItsReceiptLacks(t *testing.T) {
	l := newLedger(1)
	l.Ask(storeA, bornA, start)
	l.Sent(Span{1, 20}, 1, start)
	wantReceipt(t, l, word(1, 8), ReceiptTaken)
	l.Ask(storeB, bornB, start)
	wantNext(t, l, 20, 9, true)
	if s := (Sync{}); l.Tell(&s, storeB) {
		t.Error("told before the marks are durable")
	}
}

func TestRepairIsDueAfterSilenceWithOffsetsOutstanding(t *testing.T) {
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	wantDue := func(l *Ledger, want time.Time, wantOK bool) {
		t.Helper()
		if got, ok := l.DueAt(); ok != wantOK || ok && !got.Equal(want) {
			t.Errorf("repair is due at %v, %t; want %v, %t", got, ok, want, wantOK)
		}
	}
	l := newLedger(1)
	wantDue(l, time.Time{}, false)
	l.Sent(Span{1, 10}, 1, at(100))
	wantDue(l, at(130), true)
	l.Sent(Span{11, 20}, 1, at(110)) // sending is no progress
	wantDue(l, at(130), true)
	l.Accept(word(1, 4), 100, at(115))
	wantDue(l, at(145), true)
	l.Rewind(4, at(145))
	wantNext(t, l, 20, 5, true)
	l.Sent(Span{1, 10}, 1, at(146)) // the batch that holds 5
	wantDue(l, at(176), true)
	l.Accept(word(1, 10), 100, at(150))
	wantDue(l, time.Time{}, false)
}

func TestRewindGoesBackToTheDestinationsDone(t *testing.T) {
	l := newLedger(1)
	l.Sent(Span{1, 20}, 1, start)
	l.Rewind(12, start) // done there, the receipt is on its way
	wantNext(t, l, 20, 13, true)
}

func TestADestinationThatHasLeftIsSentNothingMoreAndKeepsNothing(t *testing.T) {
	l := NewLedger(Membership{Destination: sampleDest, Join: 1, Leave: 10}, nil, DestMark{}, anyGivenUp, start)
	wantNext(t, l, 50, 1, true)
	l.Sent(Span{1, 10}, 1, start)
	wantNext(t, l, 50, 11, false)
	wantReceipt(t, l, word(1, 10), ReceiptTaken)
	if l.Forgettable() != 0 {
		t.Errorf("forgettable %d before the receipt of its leave is durable", l.Forgettable())
	}
	l.Settle(10)
	if l.Forgettable() != ^Offset(0) {
		t.Errorf("forgettable %d for a destination that has left", l.Forgettable())
	}
}

func TestADestinationThatJoinsAgainIsSentWhatFollowsItsJoin(t *testing.T) {
	earlier := word(1, 10)
	l := NewLedger(Membership{Destination: sampleDest, Join: 31}, &earlier, DestMark{}, anyGivenUp, start)
	wantNext(t, l, 50, 31, true)
	if l.Forgettable() != 30 {
		t.Errorf("forgettable %d, want what is before the join", l.Forgettable())
	}
}

func TestLedgerIsBoundedWhateverIsLost(t *testing.T) {
	l := newLedger(1)
	for n := Offset(1); n < 10*maxSentRuns; n++ {
		l.Sent(Span{n, n}, 1, start)
	}
	for n := Offset(2); n < 10*maxSentRuns; n += 2 {
		l.Lost(Span{n, n})
	}
	if l.sent.Len() > maxSentRuns {
		t.Errorf("%d runs, limit %d", l.sent.Len(), maxSentRuns)
	}
	wantNext(t, l, 10*maxSentRuns, 2, true) // nothing that was lost is missing
}
