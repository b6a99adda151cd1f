package federation

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// heal runs without faults until nothing moves; the origin repairs when it must.
func (w *laneWorld) heal(t *rapid.T) {
	for range 3 {
		moved := true
		for round := 0; moved; round++ {
			if round > 1000 {
				t.Fatalf("no end of moving without faults; journal %+v, ledger %+v", w.state.Mark(), w.ledger)
			}
			moved = false
			if !w.state.Known() || w.state.Unfinished() == 0 && len(w.net) == 0 {
				moved = w.sync() != AdoptNothing
			}
			for w.send() {
				moved = true
			}
			for len(w.net) > 0 {
				w.arrive(t, 0)
				moved = true
			}
			for w.take(t, false) || w.retry() {
				moved = true
			}
			for len(w.socket) > 0 {
				w.broker(t, outcomeOK)
				moved = true
			}
			moved = w.mark() || moved
			w.syncLog(t, len(w.log))
			w.takeReceipt()
			w.commitOrigin()
			w.check(t)
		}
		w.ledger.Rewind(w.ledger.Done(), start)
	}
	w.checkEnd(t)
}

func (w *laneWorld) checkEnd(t *rapid.T) {
	end := w.last
	if leave := w.durable.member.Leave; leave != 0 {
		end = leave
	}
	j := w.state.Durable()
	if end >= w.durable.member.Join && (j.Done != end || w.ledger.Settled() != end) {
		t.Fatalf("healed with done %d, receipted %d, want %d; journal %+v, window %v", j.Done, w.ledger.Settled(), end, j, w.window)
	}
	for _, b := range w.batches {
		for n := b.span.First; n <= b.span.Last; n++ {
			if b.member && !b.void && !w.appeared[n] && !w.excused[n] {
				t.Fatalf("G1: offset %d is nowhere", n)
			}
		}
	}
}

// moves are what happens without faults; the more frequent ones stand there twice.
func (w *laneWorld) moves() []func(*rapid.T) {
	take := func(t *rapid.T) { w.take(t, false) }
	broker := func(t *rapid.T) {
		if len(w.socket) > 0 {
			w.broker(t, outcomeOK)
		}
	}
	arrive := func(t *rapid.T) {
		if len(w.net) > 0 {
			w.arrive(t, draw(t, "frame", len(w.net)-1))
		}
	}
	return []func(*rapid.T){
		take, take, take, take, broker, broker, broker, arrive, arrive,
		func(t *rapid.T) { w.seal(1 + draw(t, "more entries", 2)) },
		func(*rapid.T) { w.send() },
		func(*rapid.T) { w.send() },
		func(*rapid.T) { w.retry() },
		func(*rapid.T) { w.mark() },
		func(t *rapid.T) { w.syncLog(t, w.synced+draw(t, "records", len(w.log)-w.synced)) },
		func(t *rapid.T) { w.syncLog(t, len(w.log)) },
		func(*rapid.T) { w.takeReceipt() },
		func(*rapid.T) { w.commitOrigin() },
		func(*rapid.T) {
			if !w.state.Known() {
				w.sync()
			}
		},
	}
}

// cleanStop stops the destination as it should be stopped, if nothing is unfinished.
func (w *laneWorld) cleanStop(t *rapid.T) {
	if j, ok := w.state.Stop(); ok {
		w.log = append(w.log, j)
		w.crash(t, 0, len(w.log))
	}
}

// edit lets the destination leave, or join again.
func (w *laneWorld) edit(*rapid.T) {
	m := w.pending.member
	switch {
	case m.Leave == 0 && w.last >= m.Join:
		m.Leave = w.last
	case m.Leave != 0 && w.ledger.Settled() >= m.Leave: // its leave is receipted durably (design section 6.4)
		m.Join, m.Leave = w.last+1, 0
	default:
		return
	}
	w.ledger.member, w.pending.member = m, m
	w.commitOrigin()
}

func (w *laneWorld) mishaps() []func(*rapid.T) {
	crash := func(t *rapid.T) {
		w.crash(t, draw(t, "appear", len(w.socket)), w.synced+draw(t, "log", len(w.log)-w.synced))
	}
	return []func(*rapid.T){
		crash, crash,
		func(t *rapid.T) { w.take(t, true) },
		func(t *rapid.T) {
			if len(w.socket) > 0 {
				w.broker(t, outcome(1+draw(t, "outcome", 2)))
			}
		},
		func(t *rapid.T) { w.channel(t, draw(t, "appear", len(w.socket))) },
		func(t *rapid.T) { // a relay sends again what it once had
			if b := w.batches[draw(t, "batch", len(w.batches)-1)]; b.member {
				w.net = append(w.net, b)
			}
		},
		func(*rapid.T) { w.loseLink() },
		func(*rapid.T) { w.ledger.Rewind(w.ledger.Done(), start) },
		func(*rapid.T) { w.epoch++; w.restartOrigin() },
		func(t *rapid.T) {
			crash(t)
			w.store[1]++
			w.born = w.born.Add(time.Second)
			w.log, w.synced, w.state = nil, 0, NewJournalState(worldLimit)
		},
		func(*rapid.T) { // a gap lasts
			if w.state.Unfinished() == 0 {
				w.sync()
			}
		},
		w.cleanStop, w.cleanStop, w.edit, w.edit,
		func(t *rapid.T) {
			b := w.batches[draw(t, "batch", len(w.batches)-1)]
			if b.member && b.span.First > w.ledger.Done() && !b.void && len(w.voids) < 8 {
				b.void = true
				w.voids = append(w.voids, Void{Span: b.span, Destinations: []Destination{sampleDest}})
			}
		},
	}
}

// draw gives 0 to most, most included.
func draw(t *rapid.T, what string, most int) int { return rapid.IntRange(0, most).Draw(t, what) }

func (w *laneWorld) walk(t *rapid.T, steps int) {
	moves := w.moves()
	for range steps {
		moves[draw(t, "move", len(moves)-1)](t)
		w.check(t)
	}
}

func TestLedgerAndJournalKeepTheGuaranteesThroughFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLaneWorld()
		w.faults = true
		w.seal(2)
		for range 1 + draw(t, "mishaps", 12) {
			w.walk(t, draw(t, "moves before", 40))
			mishaps := w.mishaps()
			mishaps[draw(t, "mishap", len(mishaps)-1)](t)
			w.check(t)
		}
		w.heal(t)
	})
}

func TestNothingIsFlaggedWithoutFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLaneWorld()
		for range draw(t, "stops", 4) {
			w.walk(t, draw(t, "moves", 100))
			w.cleanStop(t)
			w.check(t)
		}
		w.heal(t)
	})
}

// The origin's store is put back to what it was, again and again, and frames of all branches are about: bytes that were
// never finished are never called a duplicate (that is: acked, and forgotten by who holds them).
func TestABranchOfALaneIsNeverTakenForARepeatOfAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLaneWorld()
		w.faults = true
		w.seal(2)
		w.sync()
		all := slices.Clone(w.batches)
		w.answered = func(t *rapid.T, b *laneBatch, v Verdict) {
			for n := b.span.First; v == DupOK && n <= b.span.Last; n++ {
				if !w.ended[content{b, n}] {
					t.Fatalf("offset %d of the branch sealed in epoch %d is DUP_OK, what ended was sealed in %d; journal %+v", n, b.seal, w.taken[n].seal, w.state.Mark())
				}
			}
		}
		for range 1 + draw(t, "rewinds", 4) {
			batches, last, durable := slices.Clone(w.batches), w.last, w.durable
			w.walk(t, draw(t, "moves to be lost", 60))
			all = append(all, w.batches[len(batches):]...)
			w.crash(t, draw(t, "appear", len(w.socket)), w.synced+draw(t, "log", len(w.log)-w.synced))
			w.batches, w.last, w.durable, w.rewound = batches, last, durable, true
			w.epoch++
			w.restartOrigin()
			for range draw(t, "frames of any branch", 6) {
				w.net = append(w.net, all[draw(t, "batch", len(all)-1)])
			}
			w.walk(t, draw(t, "moves after", 60))
			all = append(all, w.batches[len(batches):]...)
		}
	})
}

// The origin's store is put back to what it was, again and again, and nobody reseals it: what the destination has done of a lost branch is
// never taken for a receipt of what the origin numbered anew.
func TestWhatIsDoneOfALostBranchIsNoReceiptOfAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newLaneWorld()
		w.faults, w.asks = true, true
		w.seal(2)
		w.sync()
		for range 1 + draw(t, "rewinds", 4) {
			w.walk(t, draw(t, "moves to be kept", 40))
			batches, last, durable := slices.Clone(w.batches), w.last, w.durable
			w.walk(t, draw(t, "moves to be lost", 60))
			if draw(t, "destination crashes", 1) == 1 {
				w.crash(t, draw(t, "appear", len(w.socket)), w.synced+draw(t, "log", len(w.log)-w.synced))
			}
			w.batches, w.last, w.durable, w.rewound = batches, last, durable, true
			w.epoch++
			w.restartOrigin()
			w.walk(t, draw(t, "moves after", 60))
		}
	})
}
