package router

import (
	"context"
	"time"

	"cloudqueue/federation"
)

// speed estimates for status how fast an offset moves, from looks at it every speedEvery. The lane's mu guards it.
type speed struct {
	at        federation.Offset // at the last look
	looked    time.Time
	perSecond float64
}

// speedEvery is a compromise: shorter and a lane of a message a second flickers between 0 and 1, longer and an admin waits
// for what a change does.
const speedEvery = 5 * time.Second

// look takes in where the offset is. Half of the estimate is the last step's, so that one burst fades within four looks.
func (s *speed) look(at federation.Offset, now time.Time) {
	gap := now.Sub(s.looked).Seconds()
	switch {
	case s.looked.IsZero() || at < s.at: // the first look, or another generation
		s.perSecond = 0
	case gap <= 0:
		return
	default:
		s.perSecond += (float64(at-s.at)/gap - s.perSecond) / 2
	}
	s.at, s.looked = at, now
}

// drainSeconds is how long a backlog lasts at these speeds; -1: it does not shrink.
func drainSeconds(backlog uint64, out, in float64) float64 {
	switch {
	case backlog == 0:
		return 0
	case out <= in:
		return -1
	}
	return float64(backlog) / (out - in)
}

// keepSpeeds looks at every lane until ctx ends.
func (r *Router) keepSpeeds(ctx context.Context) {
	tick := time.NewTicker(speedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			r.lookAtSpeeds(now)
		}
	}
}

func (r *Router) lookAtSpeeds(now time.Time) {
	r.mu.Lock()
	outs, ins := values(r.out), values(r.in)
	r.mu.Unlock()
	for _, l := range outs {
		l.mu.Lock()
		l.speed.look(l.next-1, now)
		l.datedLocked(l.conditionLocked(l.next - 1))
		for _, s := range l.senders {
			s.speed.look(s.ledger.Done(), now)
		}
		l.mu.Unlock()
	}
	for _, l := range ins {
		l.mu.Lock()
		if l.journal != nil {
			l.speed.look(l.journal.Durable().Done, now)
		}
		l.mu.Unlock()
	}
}
