package federation

import (
	"cmp"
	"slices"
)

// A lane whose origin's store was put back to an older state has two branches: the offsets after that state stand for other messages than
// those that the destination has done. They differ in the epoch in which they were sealed (seals.go), so each word of a destination about
// done says that epoch, and the origin believes it only if its own batch there has the same. What the origin knows of its own batches, it
// knows from those that it sent or read since it was started.

// sealedSpan tells that all offsets of the span were sealed in one epoch: epochs never go down along a lane, so all between two offsets of
// one epoch are of that epoch.
type sealedSpan struct {
	epoch Epoch
	Span
}

// maxSealedSpans bounds what a ledger remembers (chosen: words come about what was sent last; of what is forgotten the batch is read again).
const maxSealedSpans = 64

// Sealed notes that the lane's own batch of the span was sealed in an epoch.
func (l *Ledger) Sealed(span Span, seal Epoch) {
	i, known := slices.BinarySearchFunc(l.seals, seal, func(s sealedSpan, e Epoch) int { return cmp.Compare(s.epoch, e) })
	if known {
		s := &l.seals[i].Span
		s.First, s.Last = min(s.First, span.First), max(s.Last, span.Last)
		return
	}
	l.seals = slices.Insert(l.seals, i, sealedSpan{seal, span})
	if len(l.seals) > maxSealedSpans {
		oldest := 0
		if i == 0 { // it was read for a word that comes next
			oldest = 1
		}
		l.seals = slices.Delete(l.seals, oldest, oldest+1)
	}
}

// Unreadable notes that the lane's own batch at n was given up: a word about n has to be believed.
func (l *Ledger) Unreadable(n Offset) { l.unread = n }

// Continue judges the destination's word on where to go on: done, and the epoch in which the batch there was sealed, 0 for not known; asked
// is what it had receipted when it was asked: a word may come later than a newer receipt. ReceiptTaken: go on after it.
func (l *Ledger) Continue(done Offset, seal Epoch, lastAssigned, asked Offset) ReceiptResult {
	if l.has && done < asked {
		return ReceiptBehind
	}
	return l.branch(done, seal, lastAssigned)
}

// branch tells whether what a destination is done with are this lane's own messages.
func (l *Ledger) branch(done Offset, seal Epoch, lastAssigned Offset) ReceiptResult {
	switch {
	case done > lastAssigned:
		return ReceiptAhead
	case done <= l.receipt.Done, done == l.unread:
		return ReceiptTaken
	case seal == 0 && !l.gaveUp(done):
		return ReceiptOtherBranch
	case seal == 0:
		return ReceiptTaken
	}
	own, known := l.sealOf(done)
	switch {
	case !known:
		return ReceiptUnproven
	case own != seal:
		return ReceiptOtherBranch
	}
	return ReceiptTaken
}

func (l *Ledger) sealOf(n Offset) (Epoch, bool) {
	for i := len(l.seals) - 1; i >= 0; i-- {
		if s := &l.seals[i]; s.First <= n && n <= s.Last {
			return s.epoch, true
		}
	}
	return 0, false
}
