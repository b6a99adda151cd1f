package router

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// receiptPause gathers receipts: a later one only delays forgetting, and one commit for 50 ms of them is cheap beside a
// commit for each.
const receiptPause = 50 * time.Millisecond

// receiptCame accepts or refuses a destination's word; keepReceipts makes it durable.
func (s *sender) receiptCame(rc federation.Receipt) {
	lane := s.lane
	lane.mu.Lock()
	defer lane.mu.Unlock()
	if rc.Generation != lane.mark.Generation {
		lane.r.refused.add("receipt", "of another generation", about(lane.lane, s.dest.Site), "")
		return
	}
	switch result := s.ledger.Accept(rc, lane.durable, time.Now()); result {
	case federation.ReceiptTaken:
		s.moved, s.quiet, s.try = time.Now(), 0, 0
		s.wrong, s.refusal = trouble{}, trouble{}
		s.window.Advance(rc.Done + 1)
		lane.pokeReceipts()
		s.poke()
	case federation.ReceiptKnown:
	case federation.ReceiptUnproven:
		s.readOwn(rc.Done)
	default:
		s.wrong, s.opened, s.askAt = s.whyNot(result, rc.Done), false, time.Time{}
		lane.r.refused.add("receipt", result.String(), about(lane.lane, s.dest.Site), s.wrong.fix)
		s.sayRunning()
		s.poke()
	}
}

// syncAsked takes a SYNC_REQ. From a destination it asks the origin for the lane's state; from the origin it asks a
// destination for its receipt.
func (r *Router) syncAsked(l Link, f federation.SyncReq) {
	if !f.ToOrigin {
		if in := r.inLane(l, f.Lane, f.Destination); in != nil {
			in.tell()
		}
		return
	}
	s := r.senderOf(l, f.Lane, f.Destination)
	if s == nil {
		r.reply(l, federation.Sync{Nonce: f.Nonce, Lane: f.Lane, Generation: f.Generation, Destination: f.Destination,
			Verdict: federation.NoGrant, Text: "this site has no such lane or destination"})
		return
	}
	s.lane.mu.Lock()
	s.asked = &syncRequest{link: l, req: f}
	s.lane.mu.Unlock()
	s.lane.pokeReceipts()
}

func (l *outLane) pokeReceipts() {
	poke(l.receiptWake)
}

// keepReceipts makes receipts and the destinations' store ids durable, then lets the origin forget (4.2: a receipt of
// every destination, in a later group) and answers SYNC from what is durable.
func (l *outLane) keepReceipts(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-l.receiptWake:
		}
		if err := l.keep(ctx); err != nil {
			return err
		}
		if err := sleep(ctx, receiptPause); err != nil {
			return nil
		}
	}
}

// kept is what one commit makes durable for one sender.
type receiptWork struct {
	s       *sender
	receipt federation.Receipt
	has     bool
	stores  federation.DestMark
	asked   *syncRequest
	fenced  bool // the asking store is older than the newest one
}

func (l *outLane) keep(ctx context.Context) error {
	var all []receiptWork
	var records []spool.Record
	l.mu.Lock()
	for _, s := range l.senders {
		k := s.gather(time.Now())
		all = append(all, k)
		records = append(records, k.records(l)...)
	}
	l.mu.Unlock()
	if len(records) > 0 {
		if err := l.r.submit(ctx, records...); err != nil {
			return fmt.Errorf("lane %s: keep receipts: %w", l.lane, err)
		}
	}
	l.mu.Lock()
	var answers []func()
	for _, k := range all {
		k.settle()
		if k.asked != nil {
			if answer, ok := l.syncAnswer(k); ok {
				answers = append(answers, func() { l.r.reply(k.asked.link, answer) })
			}
		}
	}
	l.mu.Unlock()
	for _, answer := range answers {
		answer()
	}
	l.forget()
	return nil
}

// gather takes what waits for a commit. Callers hold lane.mu.
func (s *sender) gather(now time.Time) receiptWork {
	k := receiptWork{s: s, asked: s.asked}
	s.asked = nil
	if k.asked != nil {
		k.fenced = s.ledger.Ask(k.asked.req.Store, k.asked.req.Born, now) == federation.AskFenced
	}
	k.receipt, k.has = s.ledger.Receipt()
	k.stores = s.ledger.Dest()
	return k
}

// records are the marks that are not durable as they stand. Callers hold lane.mu.
func (k receiptWork) records(l *outLane) []spool.Record {
	key := federation.MarkKey{Lane: l.lane, Generation: l.mark.Generation, Dest: k.s.dest}
	var out []spool.Record
	if k.s.ledger.DestChanged() {
		key.Kind = federation.MarkDest
		out = append(out, spool.MarkRecord{Key: key, Value: k.stores.Encode()})
	}
	if k.has && k.receipt.Done > k.s.ledger.Settled() {
		key.Kind = federation.MarkReceipt
		out = append(out, spool.MarkRecord{Key: key, Value: k.receipt.Encode()})
	}
	return out
}

// settle notes what is durable. Callers hold lane.mu.
func (k receiptWork) settle() {
	k.s.ledger.SettleDest(k.stores)
	if k.has {
		k.s.ledger.Settle(k.receipt.Done)
	}
}

// syncAnswer tells durable facts alone (4.2). When a receipt came in during the commit, the answer waits for the next one.
// Callers hold lane.mu.
func (l *outLane) syncAnswer(k receiptWork) (federation.Sync, bool) {
	s, req := k.s, k.asked.req
	out := federation.Sync{Nonce: req.Nonce, Lane: l.lane, Generation: l.mark.Generation, Destination: s.dest, LastAssigned: l.durable,
		FirstRetained: s.ledger.Settled() + 1, OriginStore: l.r.identity.Store}
	if k.fenced {
		out.Verdict = federation.Fenced
		out.Text = fmt.Sprintf("store %s is older than store %s, which this site has already answered", req.Store, k.stores.Newest)
		return out, true
	}
	if !s.ledger.Tell(&out, req.Store) {
		if s.asked == nil { // a newer question, perhaps of another store, is the one to answer
			s.asked = k.asked
		}
		l.pokeReceipts()
		return out, false
	}
	out.Voids = l.voids
	return out, true
}
