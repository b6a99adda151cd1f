package router

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// outLane is a lane that begins at this site: its numbering, its newest batches and a sender per destination.
type outLane struct {
	r    *Router
	lane federation.Lane

	// mu guards what follows; ingest, the senders, the receipts and status meet here. Methods that end in Locked are called with it held.
	mu      sync.Mutex
	mark    federation.LaneMark
	next    federation.Offset // the next to assign; moved by ingest alone
	durable federation.Offset // the last whose batch is committed
	tail    []*federation.Batch
	tailLen int // bytes of tail
	dups    uint64
	lastIn  time.Time         // when a batch was last committed
	speed   speed             // of next
	voids   []federation.Void // durable ones of the generation
	class   uint8
	holds   holds           // why nothing is taken from the broker
	shown   admin.Condition // the last that status was told, with its date
	senders []*sender
	in      *ingest // nil without a route in the topology

	receiptWake chan struct{} // capacity 1; pokes keepReceipts
}

// openOutLane finds the lane in the store or begins it, with its LANE mark durable: a join is told only afterwards (4.2).
func openOutLane(ctx context.Context, r *Router, lane federation.Lane, dests []federation.Destination) (*outLane, error) {
	l := &outLane{r: r, lane: lane, class: defaultClass, receiptWake: make(chan struct{}, 1)}
	if err := l.findOrBegin(ctx, dests); err != nil {
		return nil, err
	}
	if err := l.restore(); err != nil {
		return nil, err
	}
	for _, m := range l.mark.Members {
		s, err := newSender(l, m)
		if err != nil {
			return nil, err
		}
		l.senders = append(l.senders, s)
	}
	return l, nil
}

// findOrBegin reads the lane's mark, or makes the first one durable.
func (l *outLane) findOrBegin(ctx context.Context, dests []federation.Destination) error {
	r := l.r
	value, known := r.cfg.Spool.Mark(federation.MarkKey{Kind: federation.MarkLane, Lane: l.lane})
	if !known {
		l.mark = r.firstMark(dests)
		if err := r.cfg.Spool.Commit(ctx, laneRecord(l.lane, l.mark)); err != nil {
			return fmt.Errorf("lane %s: begin: %w", l.lane, err)
		}
		return nil
	}
	mark, err := federation.ParseLaneMark(value)
	if err != nil {
		return fmt.Errorf("lane %s: mark: %w", l.lane, err)
	}
	if born := federation.Generation(r.identity.Born.UnixMilli()); mark.Generation < born {
		return fmt.Errorf("lane %s is of generation %d, and the store got a new identity at %d: stop the router and run: %s", l.lane, mark.Generation, born, resealCommand)
	}
	l.mark = mark
	return nil
}

func (r *Router) firstMark(dests []federation.Destination) federation.LaneMark {
	mark := federation.LaneMark{Generation: federation.Generation(r.identity.Born.UnixMilli()), Shards: 1}
	for _, d := range dests {
		mark.Members = append(mark.Members, federation.Membership{Destination: d, Join: 1})
	}
	return mark
}

func laneRecord(lane federation.Lane, mark federation.LaneMark) spool.Record {
	return spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkLane, Lane: lane}, Value: mark.Encode()}
}

// restore finds the next offset.
func (l *outLane) restore() error {
	n, err := storedNumbering(l.r.cfg.Spool, l.lane, l.mark)
	if err != nil {
		return err
	}
	l.next, l.durable, l.dups, l.voids = n.last+1, n.last, n.dups, n.voids
	l.forgetOthers()
	return nil
}

// forgetOthers lets the store drop the lane's earlier generations, and those that a reseal began and did not finish: all that
// was not receipted is sealed again under the present one. Forgetting is not durable, so it is said at every start.
func (l *outLane) forgetOthers() {
	for _, e := range l.r.cfg.Spool.ExtentsOf(l.lane) {
		if e.Generation != l.mark.Generation {
			l.r.cfg.Spool.Forget(l.lane, e.Generation, e.Last)
		}
	}
}

// voidedFor tells whether an offset was given up for a destination, and up to which one.
func voidedFor(voids []federation.Void, d federation.Destination, at federation.Offset) (last federation.Offset, ok bool) {
	for _, v := range voids {
		if v.Span.First <= at && at <= v.Span.Last && (len(v.Destinations) == 0 || slices.Contains(v.Destinations, d)) {
			last, ok = max(last, v.Span.Last), true
		}
	}
	return last, ok
}

// voidsAboveLocked tells whether something at or above an offset was given up.
func (l *outLane) voidsAboveLocked(at federation.Offset) bool {
	return slices.ContainsFunc(l.voids, func(v federation.Void) bool { return v.Span.Last >= at })
}

// destinations are those that a batch sealed now is for.
func (l *outLane) destinations() []federation.Destination {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []federation.Destination
	for _, m := range l.mark.Members {
		if m.Leave == 0 {
			out = append(out, m.Destination)
		}
	}
	return out
}

// committed takes a batch whose Commit returned nil: from now on it may leave the site (4.2).
func (l *outLane) committed(b *federation.Batch) {
	l.mu.Lock()
	l.durable, l.lastIn = b.Header.Last(), time.Now()
	l.tail = append(l.tail, b)
	l.tailLen += len(b.Bytes())
	for l.tailLen > l.r.cfg.TailBytes && len(l.tail) > 1 {
		l.dropOldestLocked()
	}
	senders := l.senders
	l.mu.Unlock()
	for _, s := range senders {
		s.poke()
	}
}

func (l *outLane) dropOldestLocked() {
	l.tailLen -= len(l.tail[0].Bytes())
	l.tail[0] = nil
	l.tail = l.tail[1:]
}

// batchAt gives the committed batch that holds an offset, from memory if it is there, else from the store. It is nil
// when nothing at or above the offset is committed.
func (l *outLane) batchAt(ctx context.Context, at federation.Offset) (*federation.Batch, error) {
	l.mu.Lock()
	if at > l.durable {
		l.mu.Unlock()
		return nil, nil
	}
	for i := len(l.tail) - 1; i >= 0; i-- {
		if h := &l.tail[i].Header; h.First <= at && at <= h.Last() {
			b := l.tail[i]
			l.mu.Unlock()
			return b, nil
		}
	}
	gen := l.mark.Generation
	l.mu.Unlock()
	return l.r.cfg.Spool.Read(ctx, l.lane, gen, at)
}

// forget lets the store and the tail drop what every destination has receipted durably.
func (l *outLane) forget() {
	l.mu.Lock()
	upTo := l.durable
	for _, s := range l.senders {
		upTo = min(upTo, s.ledger.Forgettable())
	}
	for len(l.tail) > 0 && l.tail[0].Header.Last() <= upTo {
		l.dropOldestLocked()
	}
	gen := l.mark.Generation
	l.mu.Unlock()
	l.r.cfg.Spool.Forget(l.lane, gen, upTo)
}

func (l *outLane) sender(d federation.Destination) *sender {
	for _, s := range l.senders {
		if s.dest == d {
			return s
		}
	}
	return nil
}
