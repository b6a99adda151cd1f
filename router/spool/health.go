package spool

import "time"

// Health says whether the store takes what is submitted.
type Health struct {
	Condition Condition
	Since     time.Time // since when the condition is that
	Err       error     // the store's last error; nil when it is well
	Attempts  int       // of the group that waits
	// of the condition Full: ErrFull when it is the quota, a *DiskFullError when it is the store's disk; nil in others
	Full error
	// why segments are not ended, cleaned or removed as they should be, and space does not come back; nil when they are
	Cleaning error
	// since when the group that is being written waits for the store, also for one that hangs without an error; zero
	// when there is none
	Writing time.Time
}

// Condition is how the store is, in one word; where several apply, the greatest.
type Condition uint8

// Conditions of a store.
const (
	// Running: it takes and serves everything.
	Running Condition = iota
	// Degraded: something corrupt is not served (Spool.Corrupt), or space does not come back (Health.Cleaning). The
	// rest goes on.
	Degraded
	// Full: batches are refused for want of room (Usage.Full); marks and what drains go on.
	Full
	// Unwell: nothing becomes durable: the store fails, or has not answered for answerTime.
	Unwell
)

// answerTime is how long a write may take before the store counts as one that does not answer. Chosen: the slowest sync
// of a healthy disk takes a tenth.
const answerTime = 10 * time.Second

// Health says whether the store takes what is submitted.
func (s *Spool) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	h := s.health
	h.Writing = s.writing
	if h.Condition == Full {
		h.Full = s.whyFull()
	}
	return h
}

// look finds out how the store is, and since when. Callers hold mu.
func (s *Spool) look() {
	s.lookFull()
	condition, since := s.condition(time.Now())
	if condition != s.health.Condition {
		s.health.Condition, s.health.Since = condition, since
	}
}

func (s *Spool) condition(now time.Time) (c Condition, since time.Time) {
	switch {
	case !s.writing.IsZero() && (s.health.Err != nil || now.Sub(s.writing) >= answerTime):
		return Unwell, s.writing
	case s.space.full:
		return Full, now
	case len(s.corrupt) > 0 || s.health.Cleaning != nil:
		return Degraded, now
	}
	return Running, now
}

func (s *Spool) unwell(err error, attempt int) {
	s.mu.Lock()
	was := s.health
	s.health.Err, s.health.Attempts = err, attempt
	s.look()
	s.mu.Unlock()
	if was.Err == nil {
		s.logger.Warn("store unwell, writing again", "epoch", s.identity.Epoch, "place", s.store.Place(), "err", err)
	}
}
