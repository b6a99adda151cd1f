package router

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"cloudqueue/federation"
)

// openOn announces the lane on a link that is new to it. It is 0 when the destination has said where to go on, else how long to wait for that.
func (s *sender) openOn(ctx context.Context, link Link) time.Duration {
	open, wait := s.opening(link)
	if open == nil {
		return wait
	}
	_ = link.Send(ctx, *open) // an error: the link is ending, and Down pokes
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link == link && s.opened {
		return 0
	}
	return wait
}

// opening is the LANE_OPEN to send now, or how long to wait without it.
func (s *sender) opening(link Link) (*federation.LaneOpen, time.Duration) {
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if link != s.link {
		s.link, s.opened, s.repairing, s.syncing, s.askAt = link, false, false, false, time.Time{}
	}
	if link == nil {
		s.sayDown()
		return nil, idleCheck
	}
	now := time.Now()
	if wait := s.askAt.Sub(now); s.opened || wait > 0 {
		if s.opened {
			wait = 0
		}
		return nil, wait
	}
	s.sayAnnounced(!s.askAt.IsZero())
	s.askAt, s.askedAfter = now.Add(reopenAfter), s.ledger.Done()
	return &federation.LaneOpen{Lane: l.lane, Mark: l.mark, FirstRetained: s.ledger.Settled() + 1, LastAssigned: l.durable}, reopenAfter
}

// laneState begins sending where the destination wants to go on.
func (s *sender) laneState(l Link, f federation.LaneState, d federation.DestState) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != l || s.opened && f.Verdict == federation.OK { // a destination answers for all of its site when one of them is asked
		return
	}
	if f.Verdict != federation.OK {
		told := federation.ParseRefusal(f.Text)
		s.say(federation.StateHeld, fmt.Sprintf("%s answers %s: %s", s.dest.Site, f.Verdict, told.Why), cmp.Or(told.Mend, s.refusalFix(f.Verdict)))
		s.askAt = time.Now().Add(refusedAgain) // two sites take a topology seconds apart
		s.poke()
		return
	}
	if f.KnownGeneration != s.lane.mark.Generation {
		s.syncing = true
		s.say(federation.StateStarting, "the destination asks for the state of the lane (SYNC)", "")
		return // a WINDOW follows when it has adopted the answer
	}
	if !s.goesOn(d) {
		return
	}
	s.opened = true
	s.goTo(d.NextWanted, int(d.Window))
	if s.lane.voidsAboveLocked(d.NextWanted) {
		s.tellVoids()
	}
	s.poke()
}

// refusalFix is verdictFix for a lane that is not opened: of a route that is gone no site's topology will have it. Callers hold lane.mu.
func (s *sender) refusalFix(v federation.Verdict) string {
	if in := s.lane.in; v == federation.TopologyOld && (in == nil || in.detached) {
		return "put route " + string(s.lane.lane.Route) + " back until its lane has drained, or abandon what is stored: " + detachOf(s.lane.lane, s.dest.Site)
	}
	return verdictFix(v)
}

// goTo sends from what the destination wants next: all below is done there, nothing above is regarded as sent.
func (s *sender) goTo(next federation.Offset, bytes int) {
	now := time.Now()
	if next > s.ledger.Done()+1 {
		s.ledger.Pass(federation.Span{First: s.ledger.Done() + 1, Last: next - 1}, now)
	}
	s.ledger.Rewind(next-1, now)
	s.window.Reset(next)
	s.window.SetBytes(bytes)
	if s.sentTo >= next {
		s.try++
	}
	s.pause, s.notBefore, s.refusal = 0, time.Time{}, trouble{}
	s.sayRunning()
}

// windowMoved takes credit. A lane whose destination asked SYNC is announced again: its journal has begun. After a SYNC_REQ it is the word on where
// to go on.
func (s *sender) windowMoved(l Link, w federation.Window) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if s.link != l || w.Generation != s.lane.mark.Generation || w.Next == 0 {
		return
	}
	if !s.opened {
		if s.syncing {
			s.syncing, s.askAt = false, time.Time{}
			s.poke()
		}
		return
	}
	if s.repairing {
		s.repairing = false
		s.goTo(w.Next, int(w.Bytes))
	}
	s.window.Advance(w.Next)
	s.window.SetBytes(int(w.Bytes))
	s.poke()
}

// repairIfDue asks the destination for its durable word when receipts do not move with offsets outstanding (6.3), and says
// when to look again. A destination that holds the lane answers and does not move: it is asked less and less often.
// Callers hold lane.mu.
func (s *sender) repairIfDue(now time.Time) time.Duration {
	due, outstanding := s.ledger.DueAt()
	due = due.Add(repairEvery<<min(s.quiet, 4) - repairEvery)
	if !outstanding || s.link == nil {
		return idleCheck
	}
	if wait := due.Sub(now); wait > 0 {
		return wait
	}
	s.ledger.Rewind(s.ledger.Done(), now)
	s.repairing = true
	s.repairs++
	s.quiet++
	s.askReceipt(now)
	return idleCheck
}

// askReceipt asks the destination for its durable word. Callers hold lane.mu.
func (s *sender) askReceipt(now time.Time) {
	l := s.lane
	l.r.reply(s.link, federation.SyncReq{Nonce: uint64(now.UnixNano()), Lane: l.lane, Generation: l.mark.Generation, Destination: s.dest})
}

// tellVoids sends the destination a SYNC that it did not ask for. One that was never answered asks by itself; one that this site does not go
// on from must not pass anything on its word. Callers hold lane.mu.
func (s *sender) tellVoids() {
	stores := s.ledger.Dest()
	if s.link == nil || !s.opened || s.asked != nil || stores.Newest.IsZero() {
		return
	}
	s.asked = &syncRequest{link: s.link, req: federation.SyncReq{Lane: s.lane.lane, Generation: s.lane.mark.Generation, Destination: s.dest,
		Store: stores.Newest, Born: stores.NewestBorn, ToOrigin: true}}
	s.lane.pokeReceipts()
}
