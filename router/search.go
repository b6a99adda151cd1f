package router

import (
	"time"

	"cloudqueue/federation"
)

// search looks for the publish over which a broker closes a channel, or the connection of several. That left the outcome of everything on
// it unknown, so all of it is published again, flagged: half as many at once as before, until the bad one stands alone.
//
//	                  channel closed                       channel closed over one alone
//	nothing sought ───────────────────▶ most = n/2, n/4 … 1 ─────────────────────────────▶ found: parked, or tried alone again
//	       ▲                                    │
//	       └─── all that failed has ended ──────┘
//
// Where the connection is what closes, the lane searches on one of its own and stays there for a while. run alone uses it.
type search struct {
	most   int       // how many may be unconfirmed meanwhile; 0: nothing is sought
	closed bool      // a publish closed the channel whose outcomes are coming in
	apart  bool      // a connection of its own is wanted: a publish may close it
	until  time.Time // apart at least
}

// How a lane deals with a broker that closes the connection over a publish.
const (
	// closesBeforeParking is how often a message that stands alone may do it (chosen: an internal error may be the broker's own, once or
	// twice; each try costs a connection).
	closesBeforeParking = 3
	// apartStay is how long the lane then keeps a connection of its own (chosen: where one such message comes more do, and each one that is
	// published on the shared connection costs every lane there a flagged repeat of its window).
	apartStay = time.Minute
)

// closesOverPublish tells whether a channel, or the connection of several, was closed over a publish.
func closesOverPublish(code uint16) bool {
	return federation.OverPublish(code) || code >= federation.CodeHard
}

// seeks tells whether a publish is sought among those that failed; what is new waits meanwhile.
func (s *search) seeks() bool { return s.most > 0 }

// limit is how many may be unconfirmed, of so many without a search.
func (s *search) limit(window int) int {
	if s.seeks() {
		return min(window, s.most)
	}
	return window
}

// lost takes the code with which one unconfirmed publish of a closed channel ended. It tells whether the lane goes apart over it: some
// publish, of this lane or of another, closed the shared connection.
func (s *search) lost(code uint16) (goesApart bool) {
	s.closed = s.closed || closesOverPublish(code)
	goesApart = code >= federation.CodeHard && !s.apart
	s.apart = s.apart || goesApart
	return goesApart
}

// cut begins or narrows a search though no publish is blamed: the connection of the channel whose outcomes are in was cut.
func (s *search) cut() { s.closed, s.apart = true, true }

// lostAll is called when every outcome of the closed channel is in, and so many failed.
func (s *search) lostAll(failed int) {
	if !s.closed {
		return
	}
	s.closed = false
	if !s.seeks() {
		s.most = failed
	}
	s.most = max(1, s.most/2)
}

// found ends the search: one publish closed the channel alone, or the connection for that many times. It tells whether that is worth
// another try, alone again: the broker may have been unwell for a moment.
func (s *search) found(code uint16, times int, now time.Time) (again bool) {
	s.closed, s.most = false, 0
	if code < federation.CodeHard {
		return false
	}
	s.stay(now)
	if times < closesBeforeParking {
		s.most = 1
	}
	return s.seeks()
}

// stay keeps the lane apart for a while.
func (s *search) stay(now time.Time) { s.until = now.Add(apartStay) }

// rest ends the search when nothing is left of what failed, and the stay apart a while later.
func (s *search) rest(failed, unconfirmed int, now time.Time) {
	if failed > 0 {
		return
	}
	if unconfirmed == 0 {
		s.most = 0
	}
	if !s.seeks() && !now.Before(s.until) {
		s.apart = false
	}
}

// giveUp is for when what failed is given back.
func (s *search) giveUp() { s.most = 0 }
