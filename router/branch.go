package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// What a destination has done counts only if it is of this branch of the lane (federation, branch.go): here the origin compares the words of
// LANE_STATE with its own batches. Receipts are compared in receipts.go, with the same ledger.

// goesOn tells whether what the destination has done is what this lane has sealed; otherwise nothing is sent, and it is asked again.
// Callers hold lane.mu.
func (s *sender) goesOn(d federation.DestState) bool {
	if d.NextWanted == 0 {
		return false
	}
	last := s.lane.durable
	result := s.ledger.Continue(d.NextWanted-1, d.Seal, last, s.askedAfter)
	if result == federation.ReceiptTaken {
		s.wrong = trouble{}
		return true
	}
	if s.opened = false; result == federation.ReceiptUnproven {
		s.readOwn(d.NextWanted - 1)
		return false
	}
	s.askAt = time.Now().Add(refusedAgain)
	t := s.whyNot(result, d.NextWanted-1)
	s.say(federation.StateHeld, t.reason, t.fix)
	return false
}

// whyNot says what is wrong with a destination's word on done. Callers hold lane.mu.
func (s *sender) whyNot(result federation.ReceiptResult, done federation.Offset) trouble {
	site := s.dest.Site
	switch result {
	case federation.ReceiptAhead:
		return trouble{fmt.Sprintf("%s wants offset %d next, which is not assigned yet", site, done+1), resealFix}
	case federation.ReceiptOtherBranch:
		return trouble{fmt.Sprintf("%s has done offset %d, and that was another message than this site has there", site, done), resealFix}
	case federation.ReceiptBehind:
		return trouble{fmt.Sprintf("%s has done %d, and has receipted %d", site, done, s.ledger.Done()),
			fmt.Sprintf("the store of %s was put back to an older state: stop its router and run there: %s", site, resealCommand)}
	}
	return trouble{fmt.Sprintf("the receipt of %s is %s", site, result), "see the destination: cloudqueue status"}
}

// readOwn has run find out in which epoch this lane's own batch at an offset was sealed. Callers hold lane.mu.
func (s *sender) readOwn(n federation.Offset) {
	s.unproven = n
	s.poke()
}

// prove reads the batch that a word of the destination is compared with, and asks for that word again. It is false while the batch cannot
// be read: the lane is held until it can, or is given up.
func (s *sender) prove(ctx context.Context) bool {
	s.lane.mu.Lock()
	n := s.unproven
	s.lane.mu.Unlock()
	if n == 0 {
		return true
	}
	b, err := s.lane.batchAt(ctx, n)
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if !s.proven(n, b, err) {
		return false
	}
	s.unproven, s.askAt = 0, time.Time{}
	if s.opened {
		s.askReceipt(time.Now())
	}
	return true
}

// proven tells the ledger what reading the batch at n gave; false: nothing yet. Callers hold lane.mu.
func (s *sender) proven(n federation.Offset, b *federation.Batch, err error) bool {
	_, voided := voidedFor(s.lane.voids, s.dest, n)
	switch {
	case n <= s.ledger.Done(): // a later word was taken: the store may have forgotten the batch
	case err == nil && b != nil && b.Header.First <= n:
		s.ledger.Sealed(b.Header.Span(), b.Header.SealEpoch)
	case voided:
		s.ledger.Unreadable(n)
	case err == nil && b == nil, errors.Is(err, context.Canceled):
		return false
	default:
		s.sayUnread(n, b, err)
		return false
	}
	return true
}
