package federation

import (
	"fmt"
	"slices"
)

// The origin of a laneWorld.

func (w *laneWorld) restartOrigin() {
	w.pending = w.durable
	w.ledger = NewLedger(w.durable.member, w.durable.receipt, w.durable.dest, anyGivenUp, start)
	w.opened = false
	w.loseLink()
}

func (w *laneWorld) seal(n int) {
	w.batches = append(w.batches, &laneBatch{span: Span{w.last + 1, w.last + Offset(n)}, seal: w.epoch, member: w.pending.member.Leave == 0})
	w.last += Offset(n)
}

func (w *laneWorld) commitOrigin() {
	w.durable = w.pending
	if w.durable.receipt != nil {
		w.ledger.Settle(w.durable.receipt.Done)
	}
	w.ledger.SettleDest(w.durable.dest)
}

func (w *laneWorld) batchAt(n Offset) *laneBatch {
	i := slices.IndexFunc(w.batches, func(b *laneBatch) bool { return b.span.Contains(n) })
	return w.batches[i]
}

// send sends the next batch, or steps over one that is not for the destination.
func (w *laneWorld) send() bool {
	if w.asks && !w.opened && !w.open() {
		return false
	}
	n, ok := w.ledger.Next(w.last)
	if !ok {
		return false
	}
	b := w.batchAt(n)
	w.ledger.Sent(b.span, b.seal, start)
	if b.member && !b.void {
		w.net = append(w.net, b)
	}
	return true
}

// open is LANE_OPEN and LANE_STATE: the destination has finished what it took of an earlier process of the origin, and says where it is. It
// is false when the origin does not go on from there.
func (w *laneWorld) open() bool {
	j := w.state.Durable()
	if j.Join == 0 || w.state.Unfinished() > 0 || w.state.Changed() {
		return false
	}
	result := w.proven(j.Done, func() ReceiptResult { return w.ledger.Continue(j.Done, j.DoneSeal(), w.last, w.ledger.Done()) })
	w.opened = result == ReceiptTaken
	return w.opened
}

// proven asks again when the origin has read its own batch at done.
func (w *laneWorld) proven(done Offset, ask func() ReceiptResult) ReceiptResult {
	result := ask()
	if result == ReceiptUnproven {
		own := w.batchAt(done)
		w.ledger.Sealed(own.span, own.seal)
		result = ask()
	}
	if result == ReceiptUnproven || result == ReceiptOtherBranch && !w.rewound {
		panic("what is done of the lane's own batches is " + result.String())
	}
	return result
}

func (w *laneWorld) takeReceipt() {
	j := w.state.Durable()
	if j.Join == 0 {
		return
	}
	r := j.Receipt(sampleLane, 1, sampleDest)
	r.Store, r.Born = w.store, w.born
	before := w.ledger.Done()
	if w.proven(r.Done, func() ReceiptResult { return w.ledger.Accept(r, w.last, start) }) != ReceiptTaken {
		return
	}
	w.pending.receipt = &r
	w.pending.dest = w.ledger.Dest()
	for n := before + 1; w.asks && n <= r.Done; n++ {
		if b := w.batchAt(n); !w.ended[content{b, n}] {
			panic(fmt.Sprintf("G1: the receipt of %d counts for offset %d, sealed in epoch %d, which never ended", r.Done, n, b.seal))
		}
	}
}

// sync is the question, the answer as soon as the origin may give it, and its adoption.
func (w *laneWorld) sync() Adoption {
	if w.ledger.Ask(w.store, w.born, start) == AskFenced {
		panic("the newest store is fenced")
	}
	w.pending.dest = w.ledger.Dest()
	answer := Sync{LastAssigned: w.last, Voids: w.voids, OriginStore: storeA}
	if !w.ledger.Tell(&answer, w.store) {
		w.commitOrigin()
		if !w.ledger.Tell(&answer, w.store) {
			panic("everything is durable, and nothing is told")
		}
	}
	return w.state.Adopt(answer)
}
