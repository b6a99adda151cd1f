package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// sender carries one lane to one destination: it opens the lane on every new link, sends what its ledger says is next as
// far as the destination's window reaches, and sends again what was refused or lost. Run's goroutine sends; frames of the
// link and verdicts only change the fields and poke it. All fields but wake are guarded by lane.mu.
type sender struct {
	lane *outLane
	dest federation.Destination
	wake chan struct{} // capacity 1

	ledger     *federation.Ledger
	window     *federation.PositionWindow
	link       Link              // the link that the lane was opened on
	askAt      time.Time         // LANE_OPEN is not sent on it before
	askedAfter federation.Offset // what the destination had receipted when the last one was sent
	opened     bool              // the destination has said where to go on
	notBefore  time.Time         // a verdict asks to wait
	pause      time.Duration
	sentTo     federation.Offset // the furthest that was ever sent from here: up to it copies are repairs
	try        uint16            // how often something was to be sent again since a receipt last moved
	unproven   federation.Offset // a word of the destination on it waits for this lane's own batch to be read; 0: none
	syncing    bool              // the destination asks SYNC: a WINDOW says that its journal has begun
	repairing  bool              // a SYNC_REQ is out: the next WINDOW says where to go on
	repairs    uint64
	quiet      int       // repairs since a receipt last moved
	moved      time.Time // when a receipt last moved
	speed      speed     // of receipts

	asked   *syncRequest // a SYNC_REQ that waits for its Commit
	wrong   trouble      // why the last receipt was refused, until one is taken
	refusal trouble      // why the last copy was refused, until one is taken
	state   federation.PartState
	logged  string // the reason of the last "lane held"; owned by run
}

type syncRequest struct {
	link Link
	req  federation.SyncReq
}

// Pauses of a sender.
const (
	reopenAfter  = 5 * time.Second        // a question without an answer is asked again: ten round trips of a slow path
	refusedAgain = time.Second            // a refused lane is announced again
	minPause     = 100 * time.Millisecond // after a verdict that holds, doubled up to maxPause
	maxPause     = 5 * time.Second
	idleCheck    = 5 * time.Second  // how often a sender looks whether repair is due
	repairEvery  = 30 * time.Second // the least time between repairs (design 6.3), doubled while no receipt moves
)

func newSender(l *outLane, m federation.Membership) (*sender, error) {
	s := &sender{lane: l, dest: m.Destination, wake: make(chan struct{}, 1), moved: time.Now()}
	receipt, has, err := storedReceipt(l.r.cfg.Spool, l.lane, l.mark.Generation, m.Destination)
	if err != nil {
		return nil, err
	}
	stores, err := storedDest(l.r.cfg.Spool, l.lane, l.mark.Generation, m.Destination)
	if err != nil {
		return nil, err
	}
	known := &receipt
	if !has {
		known = nil
	}
	gaveUp := func(n federation.Offset) bool { // with lane.mu held
		_, voided := voidedFor(l.voids, s.dest, n)
		return voided
	}
	s.ledger = federation.NewLedger(m, known, stores, gaveUp, time.Now())
	s.window = federation.NewPositionWindow(s.ledger.Done()+1, 0)
	s.sayDown()
	return s, nil
}

func (s *sender) poke() {
	poke(s.wake)
}

func (s *sender) run(ctx context.Context) {
	timer := time.NewTimer(idleCheck)
	defer timer.Stop()
	for {
		timer.Reset(s.step(ctx))
		s.logHeld()
		// Any ready order gives the same result: step looks at everything.
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

// step does what can be done now and returns how long to wait without a poke.
func (s *sender) step(ctx context.Context) time.Duration {
	link := s.lane.r.link(s.dest.Site)
	if !s.prove(ctx) {
		return idleCheck
	}
	if wait := s.openOn(ctx, link); wait > 0 {
		return min(wait, idleCheck)
	}
	for ctx.Err() == nil {
		b, wait := s.pick(ctx, link)
		if b == nil {
			return min(wait, idleCheck)
		}
		if err := s.send(ctx, link, b); err != nil {
			s.notSent(b, err)
			return idleCheck // the link is ending, and Down pokes; or the lane is held
		}
	}
	return idleCheck
}

// pick takes the next batch into the window, or says how long nothing can be sent.
func (s *sender) pick(ctx context.Context, link Link) (*federation.Batch, time.Duration) {
	at, wait := s.due()
	if at == 0 {
		return nil, wait
	}
	b, err := s.lane.batchAt(ctx, at)
	return s.take(link, at, b, err)
}

// take decides about what was read for an offset. While it was read, a receipt may have let the store forget it.
func (s *sender) take(link Link, at federation.Offset, b *federation.Batch, err error) (*federation.Batch, time.Duration) {
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	_, voided := voidedFor(l.voids, s.dest, at)
	switch {
	case s.link != link, !s.opened, at <= s.ledger.Done(), voided:
		return nil, 0 // it is not wanted any more: look again
	case errors.Is(err, context.Canceled), b == nil && err == nil:
		return nil, idleCheck
	case err != nil || b.Header.First > at:
		s.sayUnread(at, b, err)
		return nil, idleCheck
	case !slices.Contains(b.Header.Destinations, s.dest):
		s.ledger.Pass(b.Header.Span(), time.Now())
		return nil, 0
	case !s.window.Fits(b.Header.Span(), len(b.Bytes())):
		s.sayUnlessHeld("waiting", "the destination's window is full")
		return nil, s.repairIfDue(time.Now())
	}
	s.window.Put(b.Header.Span(), len(b.Bytes()))
	s.ledger.Sent(b.Header.Span(), b.Header.SealEpoch, time.Now())
	return b, 0
}

// sayUnread holds the lane at an offset that the store does not give. Callers hold lane.mu.
func (s *sender) sayUnread(at federation.Offset, b *federation.Batch, err error) {
	switch {
	case errors.Is(err, spool.ErrNone):
		s.sayMissing(federation.Span{First: at, Last: s.lane.durable})
	case err != nil:
		s.say(federation.StateHeld, fmt.Sprintf("the batch at offset %d cannot be read: %v", at, err), unreadFix(err))
	default:
		s.sayMissing(federation.Span{First: at, Last: b.Header.First - 1})
	}
}

// unreadFix is what helps against a batch that cannot be read.
func unreadFix(err error) string {
	if corrupt, ok := errors.AsType[*spool.CorruptError](err); ok {
		return corrupt.Fix()
	}
	return "repair the disk, or the rights of the store's folder: cloudqueue doctor"
}

// due is the offset to send now, or 0 with how long to wait. What was given up counts as sent: the destination learns of it by SYNC.
func (s *sender) due() (federation.Offset, time.Duration) {
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if held := s.notBefore.Sub(now); held > 0 {
		return 0, held
	}
	for {
		at, ok := s.ledger.Next(l.durable)
		if !ok {
			s.sayRunning()
			return 0, s.repairIfDue(now)
		}
		last, voided := voidedFor(l.voids, s.dest, at)
		if !voided {
			return at, 0
		}
		s.ledger.Pass(federation.Span{First: at, Last: min(last, l.durable)}, now)
		s.tellVoids()
	}
}

func (s *sender) send(ctx context.Context, link Link, b *federation.Batch) error {
	l := s.lane
	h := &b.Header
	side := federation.Sidecar{Age: l.r.residence.age(h.SealedAt, h.SealEpoch == l.r.identity.Epoch, time.Now()), Bitmap: 1 << slices.Index(h.Destinations, s.dest)}
	l.mu.Lock()
	class := l.class
	if b.Header.First <= s.sentTo {
		side.Repair, side.Try = true, s.try
	}
	s.sentTo = max(s.sentTo, b.Header.Last())
	l.mu.Unlock()
	return link.Copy(ctx, class, l.lane, side, b, func(v federation.Verdict, retry time.Duration) {
		s.answered(link, b.Header.Span(), v, retry)
	})
}

// notSent takes back a batch that the link did not take.
func (s *sender) notSent(b *federation.Batch, err error) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	s.lost(b.Header.Span())
	if errors.Is(err, federation.ErrTooLarge) {
		s.say(federation.StateHeld, err.Error(), verdictFix(federation.UnknownCritical))
	}
}

// lost regards a span as not sent. Callers hold lane.mu.
func (s *sender) lost(span federation.Span) {
	s.ledger.Lost(span)
	s.window.Drop(span)
}

// answered takes a verdict. Custody of a destination is its receipt, so OK only ends a pause; what holds is sent again
// after it, and what was lost with one of the link's connections at once. After the end of a link its answers count for
// nothing: the destination's next word says where to go on.
func (s *sender) answered(link Link, span federation.Span, v federation.Verdict, retry time.Duration) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != link {
		return
	}
	defer s.poke()
	if v.MovesCustody() {
		s.pause, s.refusal = 0, trouble{}
		s.sayRunning()
		return
	}
	s.lost(span)
	s.try++
	if v == federation.LinkLost {
		return
	}
	s.lane.r.refused.add("answer", v.String(), about(s.lane.lane, s.dest.Site), verdictFix(v))
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.notBefore = time.Now().Add(max(retry, s.pause))
	if v != federation.WindowShut {
		s.refusal = trouble{string(s.dest.Site) + " answers " + v.String(), verdictFix(v)}
		s.sayRunning()
	}
}

// verdictFix is what helps the origin of a lane against an answer; copyFix is the destination's.
func verdictFix(v federation.Verdict) string {
	switch v {
	case federation.NoGrant, federation.TopologyOld, federation.NoPath:
		return "apply the same topology at both sites: cloudqueue topology show"
	case federation.Conflict:
		return resealFix
	case federation.Corrupt:
		return "see the batch: cloudqueue spool cat LANE; abandon it: " + voidCommand
	case federation.Full:
		return "give the destination's store more room"
	case federation.UnknownCritical, federation.CodecUnknown:
		return "update the router of the destination"
	}
	return ""
}
