package router

import (
	"testing"
	"time"

	"cloudqueue/federation"
)

// closings plays n publishes, of which the one numbered bad closes its channel with code, to a search. Once it is found and not worth
// another try it is gone; the others end well. It gives how many channels were closed, and how often the bad one was found.
func closings(t *testing.T, s *search, n, bad int, code uint16) (closed, found int) {
	t.Helper()
	now, window := time.Unix(0, 0), n
	for first, left := 0, n; left > 0; {
		at := min(left, s.limit(window)) // the oldest ones go out
		if bad < first || bad >= first+at {
			first, left = first+at, left-at
			s.rest(left, 0, now)
			continue
		}
		if closed++; closed > 100 {
			t.Fatalf("%d publishes, number %d is bad: not found after %d closings, at most %d at once", n, bad, closed, s.most)
		}
		if at == 1 {
			if found++; !s.found(code, found, now) {
				first, left = first+1, left-1
			}
			continue
		}
		for range at {
			s.lost(code)
		}
		s.lostAll(left)
	}
	s.rest(0, 0, now)
	return closed, found
}

func TestASearchFindsTheBadPublishInAsManyClosingsAsItHasHalves(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for bad := range n {
			s := &search{}
			closed, found := closings(t, s, n, bad, federation.CodePrecondition)
			if limit := 1 + halves(n); closed > limit || found != 1 || s.seeks() || s.apart {
				t.Fatalf("%d publishes, number %d is bad: %d closings, want at most %d; found %d times; left as %+v", n, bad, closed, limit, found, *s)
			}
		}
	}
}

func halves(n int) (times int) {
	for ; n > 1; n /= 2 {
		times++
	}
	return times
}

func TestWhatClosesConnectionsIsTriedAloneSomeTimesAndTheLaneStaysApart(t *testing.T) {
	s, begin := &search{}, time.Unix(0, 0)

	_, found := closings(t, s, 16, 5, 541)

	if found != closesBeforeParking || s.seeks() || !s.apart {
		t.Errorf("found %d times, left as %+v", found, *s)
	}
	s.rest(0, 0, begin.Add(apartStay-1))
	if !s.apart {
		t.Error("not apart any more before its time")
	}
	s.rest(0, 0, begin.Add(apartStay))
	if s.apart {
		t.Error("still apart after its time")
	}
}

func TestALaneGoesApartOnceForAClosedConnection(t *testing.T) {
	s := &search{}

	first, second := s.lost(541), s.lost(541)

	if !first || second {
		t.Errorf("goes apart %v, then %v", first, second)
	}
}

func TestAChannelThatIsLostOverNoPublishStartsNoSearch(t *testing.T) {
	s := &search{}

	s.lost(0)
	s.lost(320) // the connection was closed by an admin
	s.lostAll(2)

	if s.seeks() || s.apart {
		t.Errorf("after a lost connection %+v", *s)
	}
}

func TestASearchGoesOnUntilWhatFailedHasEnded(t *testing.T) {
	s := &search{}
	s.lost(federation.CodePrecondition)
	s.lostAll(8)

	s.rest(1, 0, time.Unix(0, 0))
	s.rest(0, 1, time.Unix(0, 0))
	if s.limit(100) != 4 {
		t.Errorf("at most %d at once, want 4", s.limit(100))
	}
	s.rest(0, 0, time.Unix(0, 0))
	if s.limit(100) != 100 {
		t.Errorf("at most %d at once, want 100", s.limit(100))
	}
}
