package federation

import (
	"slices"
	"time"

	"pgregory.net/rapid"
)

// A lane in small: an origin with its Ledger, a network that loses, repeats and reorders, a destination with its
// JournalState over a log of which a crash keeps a prefix, and a broker whose queue only the checks read. It is the
// destination's half of sim/model, run against the real state machines.
type laneWorld struct {
	batches []*laneBatch
	epoch   Epoch
	last    Offset // assigned, and durable
	ledger  *Ledger
	durable laneMarks // the origin's marks
	pending laneMarks // and those of the group that is not durable yet
	voids   []Void
	net     []*laneBatch

	store  StoreID
	born   time.Time
	state  *JournalState
	log    []any // Journal marks and Offsets of PARKs
	synced int   // of log: durable
	window map[*laneBatch]bool
	socket []publish

	queue    []publish
	appeared map[Offset]bool
	excused  map[Offset]bool // parked, refused or found expired: may appear late, flagged
	faults   bool            // some happened: repairs and flags are allowed

	rewound  bool
	asks     bool             // the origin sends only after the destination's word on where to go on
	opened   bool             // it has come, since the origin was started
	ended    map[content]bool // delivered, parked or expired, by the batch they came from
	taken    map[Offset]*laneBatch
	answered func(t *rapid.T, b *laneBatch, v Verdict) // sees what the destination says to each frame
}

// content is an offset of one branch of a lane.
type content struct {
	batch  *laneBatch
	offset Offset
}

type laneBatch struct {
	span         Span
	seal         Epoch
	member, void bool
}

type laneMarks struct {
	member  Membership
	receipt *Receipt
	dest    DestMark
}

type publish struct {
	offset  Offset
	flagged bool
}

const worldLimit = 5 // offsets unfinished at once

func newLaneWorld() *laneWorld {
	w := &laneWorld{epoch: 1, store: StoreID{1}, born: start, window: map[*laneBatch]bool{}, appeared: map[Offset]bool{}, excused: map[Offset]bool{},
		ended: map[content]bool{}, taken: map[Offset]*laneBatch{}}
	w.answered = func(t *rapid.T, b *laneBatch, v Verdict) {
		if v == Conflict {
			t.Fatalf("conflict on %v without a rewound origin; journal %+v", b, w.state.Mark())
		}
	}
	w.durable.member = Membership{Destination: sampleDest, Join: 1}
	w.pending = w.durable
	w.restartOrigin()
	w.state = NewJournalState(worldLimit)
	return w
}

// The network.

func (w *laneWorld) loseLink() {
	for _, b := range w.net {
		w.ledger.Lost(b.span)
	}
	for b := range w.window {
		w.ledger.Lost(b.span)
	}
	w.net = nil
	clear(w.window)
}

func (w *laneWorld) arrive(t *rapid.T, i int) {
	b := w.net[i]
	w.net = slices.Delete(w.net, i, i+1)
	verdict := w.state.Judge(b.span, b.seal)
	if verdict == OK {
		w.window[b] = true
	}
	w.answered(t, b, verdict)
}

// The destination.

// ackFrames judges the frames again that done has passed.
func (w *laneWorld) ackFrames(t *rapid.T) {
	for b := range w.window {
		if b.span.Last <= w.state.DurableDone() {
			delete(w.window, b)
			w.answered(t, b, w.state.Judge(b.span, b.seal))
		}
	}
}

// holding gives a batch of the window from which n may be taken; the latest branch if there are several.
func (w *laneWorld) holding(n Offset) (held *laneBatch) {
	for b := range w.window {
		if b.span.Contains(n) && w.state.Judge(b.span, b.seal) == OK && (held == nil || b.seal > held.seal) {
			held = b
		}
	}
	return held
}

// take takes the next offset if its batch is there; expired: its time is over.
func (w *laneWorld) take(t *rapid.T, expired bool) bool {
	n := w.state.Next()
	b := w.holding(n)
	if b == nil {
		return false
	}
	step := w.state.Take(n, b.seal)
	switch step {
	case StepPublish, StepFlagged:
		w.taken[n] = b
		if expired {
			w.excused[n], w.ended[content{b, n}] = true, true
			w.state.End(n, EndExpired)
			break
		}
		w.socket = append(w.socket, publish{n, step == StepFlagged})
	case StepReserve:
		if w.state.Reserve(b.span.Last, 0) {
			w.mark()
		}
		return false
	case StepConflict:
		t.Fatalf("conflict on offset %d without a rewound origin", n)
	}
	return step != StepWait
}

func (w *laneWorld) retry() bool {
	failed := w.state.Failed()
	for _, n := range failed {
		w.state.Retry(n)
		w.socket = append(w.socket, publish{n, true})
	}
	return len(failed) > 0
}

func (w *laneWorld) mark() bool {
	changed := w.state.Changed()
	if changed {
		w.log = append(w.log, w.state.Mark())
	}
	return changed
}

func (w *laneWorld) syncLog(t *rapid.T, upTo int) {
	for ; w.synced < upTo; w.synced++ {
		if j, ok := w.log[w.synced].(Journal); ok {
			w.state.Committed(j)
		}
	}
	w.ackFrames(t)
}

// crash ends the destination's process: the broker still takes some of what is in the socket, the disk has a prefix of
// the log that holds at least what was durable.
func (w *laneWorld) crash(t *rapid.T, appear, log int) {
	for _, p := range w.socket[:appear] {
		w.appear(t, p)
	}
	w.socket = nil
	w.log = w.log[:log]
	w.synced = log
	w.restore(t)
	w.loseLink()
}

func (w *laneWorld) restore(t *rapid.T) {
	w.state = NewJournalState(worldLimit)
	var parked []Offset
	var mark *Journal
	for _, r := range w.log {
		switch r := r.(type) {
		case Journal:
			mark = &r
		case Offset:
			parked = append(parked, r)
		}
	}
	if mark == nil {
		return
	}
	read, err := ParseJournal(mark.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if w.state, err = RestoreJournal(read, parked, worldLimit); err != nil {
		t.Fatal(err)
	}
}

// The broker.

type outcome int

const (
	outcomeOK outcome = iota
	outcomeLost
	outcomeNacked
	outcomeReturned
)

func (w *laneWorld) broker(t *rapid.T, o outcome) {
	p := w.socket[0]
	w.socket = w.socket[1:]
	switch o {
	case outcomeOK:
		w.appear(t, p)
		w.state.End(p.offset, EndDelivered)
	case outcomeLost:
		w.appear(t, p)
		w.state.Fail(p.offset)
	case outcomeNacked:
		w.excused[p.offset] = true
		w.state.Fail(p.offset)
	case outcomeReturned:
		w.excused[p.offset], w.ended[content{w.taken[p.offset], p.offset}] = true, true
		w.log = append(w.log, p.offset) // PARK: before any later mark
		w.state.End(p.offset, EndParked)
	}
}

// channel ends the publishing channel: the broker has taken some of what is in the socket, nobody knows which.
func (w *laneWorld) channel(t *rapid.T, appear int) {
	for i, p := range w.socket {
		if i < appear {
			w.appear(t, p)
		}
		w.state.Fail(p.offset)
	}
	w.socket = nil
}

// appear is where G2 and G3 are checked.
func (w *laneWorld) appear(t *rapid.T, p publish) {
	if slices.Contains(w.log, any(p.offset)) {
		t.Fatalf("G1: offset %d is parked, and appears", p.offset)
	}
	if !p.flagged && !w.rewound {
		if w.appeared[p.offset] {
			t.Fatalf("G3: offset %d appears unflagged a second time; queue %v", p.offset, w.queue)
		}
		for _, before := range w.queue {
			if !before.flagged && before.offset >= p.offset {
				t.Fatalf("G2: unflagged %d after unflagged %d", p.offset, before.offset)
			}
		}
		for n := Offset(1); n < p.offset; n++ {
			if b := w.batchAt(n); b.member && !b.void && !w.appeared[n] && !w.excused[n] {
				t.Fatalf("G2: %d appears unflagged and %d did not appear; queue %v", p.offset, n, w.queue)
			}
		}
	}
	if !w.faults && p.flagged {
		t.Fatalf("offset %d is flagged in a run without faults", p.offset)
	}
	w.appeared[p.offset], w.ended[content{w.taken[p.offset], p.offset}] = true, true
	w.queue = append(w.queue, p)
}

// check is what holds in every state (G14).
func (w *laneWorld) check(t *rapid.T) {
	if j := w.state.Mark(); w.state.Known() && (!j.Balanced() || j.valid() != "") {
		t.Fatalf("journal %+v: %s", j, j.valid())
	}
	if w.state.Unfinished() > worldLimit {
		t.Fatalf("%d offsets unfinished, limit %d", w.state.Unfinished(), worldLimit)
	}
	if w.state.Known() && w.state.Durable().Done > w.state.Mark().Done {
		t.Fatalf("durable %+v is ahead of %+v", w.state.Durable(), w.state.Mark())
	}
}
