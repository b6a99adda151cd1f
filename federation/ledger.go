package federation

import (
	"bytes"
	"fmt"
	"math"
	"time"
)

// Ledger is the origin's account with one destination, per lane and generation (docs/design.md sections 6.3 and 6.4):
//
//	    Settled        Receipt().Done           Next            last durable
//	───────┼──────────────────┼───────────────────┼───────────────────┼──▶ offsets
//	may be │ receipt is taken,│ sent: on its way, │ to be sent        │
//	forgot-│ its mark not     │ or in somebody's  │                   │
//	ten    │ durable          │ custody           │                   │
//
// A custody ack changes nothing here but that the batch is not sent again: only receipts let the origin forget. When
// receipts stop while something is outstanding, a repair is due: SYNC, then Rewind. It takes the time as an argument.
// One goroutine at a time may use it.
type Ledger struct {
	member   Membership
	dest     DestMark
	destOpen bool    // dest is not durable as it stands
	receipt  Receipt // the last one that was taken; Done is join − 1 when there is none
	has      bool    // there is one
	settled  Offset  // done of the last receipt that is durable
	sent     *SpanSet
	seals    []sealedSpan      // what is known of the lane's own batches, ascending
	unread   Offset            // an offset whose own batch nobody can read any more
	gaveUp   func(Offset) bool // the lane gave this offset up for the member
	progress time.Time         // of the last receipt that grew, or of the first send after nothing was outstanding, or of the last repair
}

// maxSentRuns bounds the gaps that refused frames leave (chosen: the frames outstanding on one stream are fewer).
// Beyond it the furthest are forgotten and sent again, which the destination drops by offset.
const maxSentRuns = 1024

// repairAfter is the time without progress after which a repair is due (design section 6.3).
const repairAfter = 30 * time.Second

// NewLedger makes the account of a member from what is durable: its receipt (nil: none) and the stores it was answered. A destination that
// passed an offset without a batch is believed only where gaveUp says that the lane gave it up for this member: what a lost branch gave up is
// another message now.
func NewLedger(m Membership, receipt *Receipt, dest DestMark, gaveUp func(Offset) bool, now time.Time) *Ledger {
	l := &Ledger{member: m, dest: dest, gaveUp: gaveUp, sent: NewSpanSet(maxSentRuns), progress: now}
	l.receipt.Done = m.Join - 1
	if receipt != nil {
		l.receipt, l.has = *receipt, true
	}
	l.settled = l.receipt.Done
	return l
}

// Next is the lowest offset that is to be sent now; false when nothing up to durable is. Durable is the last offset of
// the lane whose batch is durable: nothing above it may leave (design section 4.2).
func (l *Ledger) Next(durable Offset) (Offset, bool) {
	next := l.sent.Gap(max(l.receipt.Done+1, l.member.Join))
	last := durable
	if l.member.Leave != 0 {
		last = min(last, l.member.Leave)
	}
	return next, next <= last
}

// Sent records that a copy of the span, sealed in epoch seal, left for the destination.
func (l *Ledger) Sent(span Span, seal Epoch, now time.Time) {
	l.Sealed(span, seal)
	l.Pass(span, now)
}

// Pass regards a span as sent of which nothing is to be sent: it was given up, or is for others, or is done.
func (l *Ledger) Pass(span Span, now time.Time) {
	span.First = max(span.First, l.receipt.Done+1)
	if !l.Outstanding() {
		l.progress = now
	}
	if !l.sent.Add(span) {
		l.sent.RemoveFrom(span.First)
	}
}

// Lost records that a copy did not arrive, or was refused: it is sent again.
func (l *Ledger) Lost(span Span) {
	if !l.sent.Remove(span) {
		l.sent.RemoveFrom(span.First)
	}
}

// Outstanding tells whether something is sent and not receipted.
func (l *Ledger) Outstanding() bool { return l.sent.Len() > 0 }

// ReceiptResult is what a ledger says to a receipt.
type ReceiptResult uint8

// Results of Accept.
const (
	// ReceiptTaken: commit its RECEIPT mark, and the DEST mark if DestChanged; then Settle.
	ReceiptTaken ReceiptResult = iota
	// ReceiptKnown: it says nothing that an earlier one did not say.
	ReceiptKnown
	// ReceiptOldStore: its store is older than the newest one that the destination had.
	ReceiptOldStore
	// ReceiptUnbalanced: its counters do not add up to done − join + 1.
	ReceiptUnbalanced
	// ReceiptAhead: it is done with offsets that this lane never assigned: the origin's store was put back to an older
	// state.
	ReceiptAhead
	// ReceiptNotMember: the destination never joined, or it is another one.
	ReceiptNotMember
	// ReceiptOtherBranch: what it is done with was sealed in another epoch than this lane's own batch there: the origin's store was put back
	// to an older state, and has numbered other messages since.
	ReceiptOtherBranch
	// ReceiptUnproven: the epoch of the lane's own batch at done is not known yet. Read it, tell Sealed or Unreadable, and ask again.
	ReceiptUnproven
	// ReceiptBehind: the destination has done less than it receipted: its store was put back to an older state. Only Continue says it.
	ReceiptBehind
)

var receiptResults = [...]string{"taken", "known", "of an old store", "unbalanced", "ahead of the lane", "not of a member",
	"of another branch of the lane", "not proven yet", "behind an earlier one"}

// String gives the result in words for people.
func (r ReceiptResult) String() string {
	if int(r) < len(receiptResults) {
		return receiptResults[r]
	}
	return fmt.Sprintf("receipt result %d", uint8(r))
}

// Accept takes a receipt of this lane and generation or says why not. Receipts are cumulative: any order and any number
// of repeats give the same account. LastAssigned is the last offset that the lane ever assigned.
func (l *Ledger) Accept(r Receipt, lastAssigned Offset, now time.Time) ReceiptResult {
	switch {
	case l.member.Join == 0 || r.Destination != l.member.Destination:
		return ReceiptNotMember
	case l.olderThanNewest(r.Store, r.Born):
		return ReceiptOldStore
	case r.Join < 1 || r.Done < r.Join-1 || uint64(r.Done+1-r.Join) != r.Counters.Sum():
		return ReceiptUnbalanced
	case r.Done <= l.receipt.Done:
		// Also of a newer store, which becomes the newest when it asks SYNC (Ask): before that it has no journal to
		// speak of.
		return ReceiptKnown
	}
	if result := l.branch(r.Done, r.Seal, lastAssigned); result != ReceiptTaken {
		return result
	}
	l.newest(r.Store, r.Born)
	l.receipt, l.has = r, true
	l.sent.RemoveUpTo(r.Done)
	l.progress = now
	return ReceiptTaken
}

// Settle records that the group with the RECEIPT mark of done is durable.
func (l *Ledger) Settle(done Offset) { l.settled = max(l.settled, min(done, l.receipt.Done)) }

// Receipt is the last receipt taken; false when there is none.
func (l *Ledger) Receipt() (Receipt, bool) { return l.receipt, l.has }

// Done is the last offset that is receipted, durable or not; join − 1 without a receipt.
func (l *Ledger) Done() Offset { return l.receipt.Done }

// Settled is the last offset whose receipt is durable.
func (l *Ledger) Settled() Offset { return l.settled }

// Forgettable is the last offset that the origin need not keep for this destination: durably receipted, before its
// join, or anything once it has left.
func (l *Ledger) Forgettable() Offset {
	if l.member.Leave != 0 && l.settled >= l.member.Leave {
		return math.MaxUint64
	}
	return max(l.settled, l.member.Join-1)
}

// AskResult is what a ledger says to a destination that asks SYNC.
type AskResult uint8

// Results of Ask.
const (
	// AskKnown: the store is the newest known. Answer with Tell.
	AskKnown AskResult = iota
	// AskNewStore: the first one, or a newer one than any before. Commit Dest as the DEST mark, SettleDest, answer with
	// Tell.
	AskNewStore
	// AskFenced: the store is older than the newest one: answer FENCED, tell nothing.
	AskFenced
)

// Ask takes note of the store of a destination that asks (design section 6.3): the first store that was ever answered
// is kept for ever, the newest by birth too. What a new store lacks is sent again at once: what is not receipted counts
// as not sent.
func (l *Ledger) Ask(store StoreID, born, now time.Time) AskResult {
	if l.olderThanNewest(store, born) {
		return AskFenced
	}
	if l.dest.First.IsZero() {
		l.dest.First, l.destOpen = store, true
	}
	if !l.newest(store, born) {
		return AskKnown
	}
	l.Rewind(l.receipt.Done, now)
	return AskNewStore
}

// Tell fills in the SYNC answer to the store: join, whether it is the first store, the receipt with its counters. It
// returns false while a receipt that was taken, or the DEST mark, is not durable: the answer waits for it (design
// section 4.2).
func (l *Ledger) Tell(s *Sync, store StoreID) bool {
	if l.settled != l.receipt.Done || l.destOpen {
		return false
	}
	s.Destination = l.member.Destination
	s.Join = l.member.Join
	s.FirstStore = store == l.dest.First
	s.Receipt, s.HasReceipt = l.receipt, l.has
	return true
}

// Dest is the DEST mark as it must be durable before an answer to Ask leaves.
func (l *Ledger) Dest() DestMark { return l.dest }

// DestChanged tells whether Dest is not durable as it stands.
func (l *Ledger) DestChanged() bool { return l.destOpen }

// SettleDest records that the DEST mark m is durable.
func (l *Ledger) SettleDest(m DestMark) {
	if m.First == l.dest.First && m.Newest == l.dest.Newest {
		l.destOpen = false
	}
}

// olderThanNewest orders stores by birth; the id decides between two of the same millisecond.
func (l *Ledger) olderThanNewest(store StoreID, born time.Time) bool {
	if store == l.dest.Newest || l.dest.Newest.IsZero() {
		return false
	}
	if !born.Equal(l.dest.NewestBorn) {
		return born.Before(l.dest.NewestBorn)
	}
	return bytes.Compare(store[:], l.dest.Newest[:]) < 0
}

// newest records a store that is not older than the newest one, and tells whether it is another one.
func (l *Ledger) newest(store StoreID, born time.Time) bool {
	if store == l.dest.Newest {
		return false
	}
	l.dest.Newest, l.dest.NewestBorn, l.destOpen = store, born, true
	return true
}

// DueAt is when a repair is due unless a receipt comes first: no progress for 30 s with offsets outstanding. It returns
// false when nothing is outstanding.
func (l *Ledger) DueAt() (time.Time, bool) { return l.progress.Add(repairAfter), l.Outstanding() }

// Rewind repairs: everything above done, the destination's own durable word, is sent again. The next repair is not due
// before its time has passed again.
func (l *Ledger) Rewind(done Offset, now time.Time) {
	l.sent.RemoveFrom(max(done, l.receipt.Done) + 1)
	l.progress = now
}

// Membership is the one that the account is of.
func (l *Ledger) Membership() Membership { return l.member }
