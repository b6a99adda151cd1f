package federation

import "testing"

// sealedWord is a receipt of everything up to done whose batch there was sealed in an epoch.
func sealedWord(done Offset, seal Epoch) Receipt {
	r := word(1, done)
	r.Seal = seal
	return r
}

func TestAWordOnDoneCountsOnlyForTheBranchThatItIsOf(t *testing.T) {
	l := newLedger(1)
	l.Sent(Span{1, 9}, 5, start)
	l.Sent(Span{10, 19}, 7, start)

	wantReceipt(t, l, sealedWord(9, 4), ReceiptOtherBranch)
	wantReceipt(t, l, sealedWord(12, 5), ReceiptOtherBranch)
	wantReceipt(t, l, sealedWord(9, 5), ReceiptTaken)
	wantReceipt(t, l, sealedWord(9, 4), ReceiptKnown)
	wantReceipt(t, l, sealedWord(12, 7), ReceiptTaken)
	wantReceipt(t, l, sealedWord(14, 0), ReceiptTaken) // the journal does not know: it passed a void
	for done, want := range map[Offset]ReceiptResult{13: ReceiptBehind, 14: ReceiptTaken, 15: ReceiptTaken, 101: ReceiptAhead} {
		if got := l.Continue(done, 7, 100, 14); got != want {
			t.Errorf("done %d: %s, want %s", done, got, want)
		}
	}
	if got := l.Continue(13, 7, 100, 12); got != ReceiptTaken {
		t.Errorf("a word that a newer receipt overtook: %s", got)
	}
}

func TestAWordOnABatchThatWasNotReadSinceTheStartWaitsUntilItIs(t *testing.T) {
	l := newLedger(1)
	l.Sent(Span{1, 4}, 5, start)
	l.Sent(Span{20, 24}, 8, start) // between the two it is not known which batch is of which epoch

	wantReceipt(t, l, sealedWord(10, 6), ReceiptUnproven)
	l.Sealed(Span{9, 12}, 6)
	wantReceipt(t, l, sealedWord(10, 8), ReceiptOtherBranch)
	wantReceipt(t, l, sealedWord(10, 6), ReceiptTaken)
	wantReceipt(t, l, sealedWord(15, 6), ReceiptUnproven)
	l.Unreadable(15)
	wantReceipt(t, l, sealedWord(15, 6), ReceiptTaken)
}

func TestAWordOnAnOffsetThatWasPassedCountsOnlyIfTheLaneGaveItUp(t *testing.T) {
	l := NewLedger(Membership{Destination: sampleDest, Join: 1}, nil, DestMark{}, func(n Offset) bool { return n == 14 }, start)
	l.Sent(Span{1, 20}, 5, start)

	wantReceipt(t, l, sealedWord(13, 0), ReceiptOtherBranch)
	wantReceipt(t, l, sealedWord(14, 0), ReceiptTaken)
}

func TestALedgerRemembersTheNewestOfManyEpochs(t *testing.T) {
	l := newLedger(1)
	for e := Epoch(1); e <= 2*maxSealedSpans; e++ {
		l.Sent(Span{Offset(e), Offset(e)}, e, start)
	}
	if len(l.seals) > maxSealedSpans {
		t.Errorf("%d spans are remembered, limit %d", len(l.seals), maxSealedSpans)
	}
	wantReceipt(t, l, sealedWord(1, 1), ReceiptUnproven)
	wantReceipt(t, l, sealedWord(100, 99), ReceiptOtherBranch)
	wantReceipt(t, l, sealedWord(100, 100), ReceiptTaken)
}

func TestABatchThatWasReadForAWordIsKnownHoweverManyEpochsWereSentAfterIt(t *testing.T) {
	l := newLedger(1)
	for e := Epoch(1); e <= 2*maxSealedSpans; e++ {
		l.Sent(Span{Offset(e), Offset(e)}, e, start)
	}
	l.Sealed(Span{1, 1}, 1)
	if got := l.Continue(1, 1, 100, 0); got != ReceiptTaken {
		t.Errorf("where to go on: %s", got)
	}
	wantReceipt(t, l, sealedWord(1, 1), ReceiptTaken)
	if len(l.seals) > maxSealedSpans {
		t.Errorf("%d spans are remembered, limit %d", len(l.seals), maxSealedSpans)
	}
}

func TestAJournalKnowsInWhichEpochItsDoneWasSealedHoweverManyFollow(t *testing.T) {
	s := freshJournal(t, 100)
	wantSteps(t, s, 1, 1, StepPublish)
	s.End(1, EndDelivered)
	for e := Epoch(2); e <= MaxSeals; e++ {
		wantSteps(t, s, Offset(e), e, StepPublish)
	}

	wantSteps(t, s, MaxSeals+1, MaxSeals+1, StepWait)
	if got := s.Mark().DoneSeal(); got != 1 {
		t.Errorf("done was sealed in epoch %d, want 1", got)
	}
	s.End(2, EndDelivered)
	wantSteps(t, s, MaxSeals+1, MaxSeals+1, StepPublish)
	if got := s.Mark().DoneSeal(); got != 2 {
		t.Errorf("done was sealed in epoch %d, want 2", got)
	}
}

func TestAJournalThatIsRebuiltFromAReceiptKnowsInWhichEpochItsDoneWasSealed(t *testing.T) {
	s := NewJournalState(10)
	receipt := receiptOf(3, 10, Counters{Delivered: 8})
	receipt.Seal = 6
	s.Adopt(Sync{Join: 3, HasReceipt: true, Receipt: receipt, LastAssigned: 20})

	if got := s.Mark().DoneSeal(); got != 6 {
		t.Errorf("done is of epoch %d, want 6", got)
	}
	if got := s.Judge(Span{9, 12}, 5); got != Conflict {
		t.Errorf("a batch over done, sealed before: %s, want CONFLICT", got)
	}
	if got := s.Judge(Span{11, 12}, 6); got != OK {
		t.Errorf("the batch after done: %s, want OK", got)
	}
}
