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

	ledger    *federation.Ledger
	window    *federation.PositionWindow
	link      Link      // the link that the lane was opened on
	askedAt   time.Time // when LANE_OPEN was sent on it
	opened    bool      // the destination has said where to go on
	notBefore time.Time // a verdict asks to wait
	pause     time.Duration
	try       uint16
	repairing bool // a SYNC_REQ is out: the next WINDOW says where to go on
	repairs   uint64
	quiet     int       // repairs since a receipt last moved
	moved     time.Time // when a receipt last moved

	asked *syncRequest // a SYNC_REQ that waits for its Commit
	state federation.PartState
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
	idleCheck    = 5 * time.Second // how often a sender looks whether repair is due
)

func newSender(l *outLane, m federation.Membership) (*sender, error) {
	s := &sender{lane: l, dest: m.Destination, wake: make(chan struct{}, 1), moved: time.Now()}
	receipt, has, err := l.r.storedReceipt(l.lane, l.mark.Generation, m.Destination)
	if err != nil {
		return nil, err
	}
	stores, err := l.r.storedDest(l.lane, l.mark.Generation, m.Destination)
	if err != nil {
		return nil, err
	}
	known := &receipt
	if !has {
		known = nil
	}
	s.ledger = federation.NewLedger(m, known, stores, time.Now())
	s.window = federation.NewPositionWindow(s.ledger.Done()+1, 0)
	s.sayDown()
	return s, nil
}

func (s *sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // one poke is enough: run looks at everything
	}
}

// say changes what status shows; Since moves only when the state does. Callers hold lane.mu.
func (s *sender) say(state, reason, fix string) {
	if s.state.State != state || s.state.Reason != reason {
		s.state = federation.PartState{State: state, Reason: reason, Fix: fix, Since: time.Now()}
	}
}

func (s *sender) sayDown() {
	s.say("waiting", "no link to "+string(s.dest.Site), "see the link: cloudqueue status")
}

func (s *sender) run(ctx context.Context) {
	timer := time.NewTimer(idleCheck)
	defer timer.Stop()
	for {
		timer.Reset(s.step(ctx))
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
	if !s.ready(ctx, link) {
		return idleCheck
	}
	for ctx.Err() == nil {
		b, wait := s.pick(ctx, link)
		if b == nil {
			return min(wait, idleCheck)
		}
		if err := s.send(ctx, link, b); err != nil {
			return idleCheck // the link is ending; Down pokes
		}
	}
	return idleCheck
}

// ready opens the lane on a link that is new to it, and tells whether the destination has answered.
func (s *sender) ready(ctx context.Context, link Link) bool {
	open, ask := s.openOn(link)
	if ask {
		if err := link.Send(ctx, open); err != nil {
			return false // the link is ending; Down pokes
		}
	}
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	return s.link == link && s.opened
}

func (s *sender) openOn(link Link) (federation.LaneOpen, bool) {
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if link != s.link {
		s.link, s.opened, s.repairing, s.askedAt = link, false, false, time.Time{}
	}
	if link == nil {
		s.sayDown()
		return federation.LaneOpen{}, false
	}
	now := time.Now()
	if s.opened || now.Sub(s.askedAt) < reopenAfter {
		return federation.LaneOpen{}, false
	}
	s.askedAt = now
	s.say("starting", "the lane is announced to the destination", "")
	return federation.LaneOpen{Lane: l.lane, Mark: l.mark, FirstRetained: s.ledger.Settled() + 1, LastAssigned: l.durable}, true
}

// pick takes the next batch into the window, or says how long nothing can be sent.
func (s *sender) pick(ctx context.Context, link Link) (*federation.Batch, time.Duration) {
	at, wait := s.due()
	if at == 0 {
		return nil, wait
	}
	b, err := s.lane.batchAt(ctx, at)
	if err != nil && !errors.Is(err, spool.ErrNone) && s.skipVoid(at) {
		return nil, 0
	}
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case s.link != link || !s.opened:
		return nil, 0 // a frame came between: look again
	case err != nil && !errors.Is(err, spool.ErrNone):
		s.say("held", fmt.Sprintf("the batch at offset %d cannot be read: %v", at, err), "repair the store, or give the offsets up: cloudqueue spool void")
		return nil, idleCheck
	case b == nil || err != nil:
		return nil, idleCheck
	case !slices.Contains(b.Header.Destinations, s.dest):
		s.ledger.Sent(b.Header.Span(), time.Now())
		return nil, 0
	case !s.window.Fits(b.Header.Span(), len(b.Bytes())):
		s.say("waiting", "the destination's window is full", "")
		return nil, s.repairIfDue(ctx, time.Now())
	}
	s.window.Put(b.Header.Span(), len(b.Bytes()))
	s.ledger.Sent(b.Header.Span(), time.Now())
	s.say("running", "", "")
	return b, 0
}

// due is the offset to send now, or 0 with how long to wait.
func (s *sender) due() (federation.Offset, time.Duration) {
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if held := s.notBefore.Sub(now); held > 0 {
		return 0, held
	}
	at, ok := s.ledger.Next(l.durable)
	if !ok {
		s.say("running", "", "")
		return 0, s.repairIfDue(l.r.ctx, now)
	}
	return at, 0
}

// skipVoid regards a span that an admin gave up as sent; the destination learns of it by SYNC.
func (s *sender) skipVoid(at federation.Offset) bool {
	voids, err := s.lane.r.storedVoids(s.lane.lane, s.lane.generation())
	if err != nil {
		return false
	}
	for _, v := range voids.Voids {
		if v.Span.First <= at && at <= v.Span.Last && (len(v.Destinations) == 0 || slices.Contains(v.Destinations, s.dest)) {
			s.lane.mu.Lock()
			s.ledger.Sent(federation.Span{First: at, Last: v.Span.Last}, time.Now())
			s.lane.mu.Unlock()
			return true
		}
	}
	return false
}

func (s *sender) send(ctx context.Context, link Link, b *federation.Batch) error {
	l := s.lane
	l.mu.Lock()
	class, try := l.class, s.try
	l.mu.Unlock()
	side := federation.Sidecar{Try: try, Repair: try > 0, Age: max(0, time.Since(b.Header.SealedAt)),
		Bitmap: 1 << slices.Index(b.Header.Destinations, s.dest)}
	return link.Copy(ctx, class, l.lane, side, b, func(v federation.Verdict, retry time.Duration) {
		s.answered(link, b.Header.Span(), v, retry)
	})
}

// answered takes a verdict. Custody of a destination is its receipt, so OK only ends a pause; what holds is sent again
// after it. With the link everything unanswered is lost: the next answer to LANE_OPEN says where to go on.
func (s *sender) answered(link Link, span federation.Span, v federation.Verdict, retry time.Duration) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != link || v == federation.LinkLost {
		return
	}
	if v.MovesCustody() {
		s.pause = 0
		return
	}
	s.lane.r.refused.add("answer: " + v.String())
	s.ledger.Lost(span)
	s.window.Drop(span)
	s.try++
	s.pause = min(max(2*s.pause, minPause), maxPause)
	s.notBefore = time.Now().Add(max(retry, s.pause))
	if v != federation.WindowShut {
		s.say("held", string(s.dest.Site)+" answers "+v.String(), verdictFix(v))
	}
	s.poke()
}

func verdictFix(v federation.Verdict) string {
	switch v {
	case federation.NoGrant, federation.TopologyOld, federation.NoPath:
		return "apply the same topology at both sites: cloudqueue topology show"
	case federation.Conflict:
		return "the origin's store was put back to an older state: stop its router and run: cloudqueue spool reseal"
	case federation.Corrupt:
		return "see the batch: cloudqueue spool cat; give it up: cloudqueue spool void"
	case federation.Full:
		return "give the destination's store more room"
	case federation.UnknownCritical, federation.CodecUnknown:
		return "update the router of the destination"
	}
	return ""
}

// laneState begins sending where the destination wants to go on.
func (s *sender) laneState(l Link, f federation.LaneState, d federation.DestState) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != l {
		return
	}
	if f.Verdict != federation.OK {
		s.say("held", fmt.Sprintf("%s answers %s: %s", s.dest.Site, f.Verdict, f.Text), verdictFix(f.Verdict))
		s.reopenSoon()
		return
	}
	if f.KnownGeneration != s.lane.mark.Generation {
		s.say("starting", "the destination asks for the state of the lane (SYNC)", "")
		return // a WINDOW follows when it has adopted the answer
	}
	s.opened = true
	s.goTo(d.NextWanted, int(d.Window))
	s.poke()
}

// reopenSoon asks again after a refusal: two sites take a topology seconds apart. Callers hold lane.mu.
func (s *sender) reopenSoon() {
	l := s.lane
	l.r.start(func() {
		if sleep(l.r.ctx, refusedAgain) != nil {
			return
		}
		l.mu.Lock()
		s.askedAt = time.Time{}
		l.mu.Unlock()
		s.poke()
	})
}

// goTo sends from what the destination wants next: all below is done there, nothing above is regarded as sent.
func (s *sender) goTo(next federation.Offset, bytes int) {
	now := time.Now()
	if next > s.ledger.Done()+1 {
		s.ledger.Sent(federation.Span{First: s.ledger.Done() + 1, Last: next - 1}, now)
	}
	s.ledger.Rewind(next-1, now)
	s.window.Reset(next)
	s.window.SetBytes(bytes)
	s.pause, s.notBefore = 0, time.Time{}
}

// windowMoved takes credit. On a link that was not open yet it opens the lane; after a SYNC_REQ it is the word on where to go on.
func (s *sender) windowMoved(l Link, w federation.Window) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != l || w.Generation != s.lane.mark.Generation || w.Next == 0 {
		return
	}
	if !s.opened || s.repairing {
		s.opened, s.repairing = true, false
		s.try++
		s.goTo(w.Next, int(w.Bytes))
	}
	s.window.Advance(w.Next)
	s.window.SetBytes(int(w.Bytes))
	s.poke()
}

// repairIfDue asks the destination for its durable word when receipts do not move with offsets outstanding (6.3), and says
// when to look again. A destination that holds the lane answers and does not move: it is asked less and less often.
// Callers hold lane.mu.
func (s *sender) repairIfDue(ctx context.Context, now time.Time) time.Duration {
	due, outstanding := s.ledger.DueAt(0)
	wait := due.Sub(now) << min(s.quiet, 4)
	if !outstanding || s.link == nil || wait > 0 {
		return idleCheck
	}
	s.ledger.Rewind(s.ledger.Done(), now)
	s.repairing = true
	s.repairs++
	s.quiet++
	l := s.lane
	l.r.reply(s.link, federation.SyncReq{Nonce: uint64(now.UnixNano()), Lane: l.lane, Generation: l.mark.Generation, Destination: s.dest})
	return idleCheck
}
