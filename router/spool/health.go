package spool

import "time"

// Health says whether the store takes what is submitted.
type Health struct {
	Err      error     // the store's last error; nil when it is well
	Since    time.Time // since when nothing was made durable; zero when it is well
	Attempts int       // of the group that waits
	Writing  time.Time // since when the group that is being written waits for the store, also for one that hangs without an error; zero when there is none
}

// Health says whether the store takes what is submitted.
func (s *Spool) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.health
	h.Writing = s.writing
	return h
}

func (s *Spool) unwell(err error, attempt int) {
	s.mu.Lock()
	was := s.health
	s.health.Err, s.health.Attempts = err, attempt
	if was.Err == nil {
		s.health.Since = time.Now()
	}
	s.mu.Unlock()
	if was.Err == nil {
		s.logger.Warn("store unwell, writing again", "epoch", s.identity.Epoch, "err", err)
	}
}

func (s *Spool) well() {
	s.mu.Lock()
	was := s.health
	s.health = Health{}
	s.mu.Unlock()
	if was.Err != nil {
		s.logger.Info("store well again", "epoch", s.identity.Epoch, "attempts", was.Attempts, "after", time.Since(was.Since))
	}
}
