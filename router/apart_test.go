package router

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestAMessageOverWhichTheBrokerClosesTheConnectionIsFoundApartAndParked(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.deadly = "m100"
		v := &verdicts{}

		s.router.Copy(l, s.copyOf(7, 1, bodies(300)...), v.answer)
		time.Sleep(30 * time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Verdict{federation.OK}, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if got := unflagged(s.broker.bodies()); len(got) != 299 {
			t.Errorf("%d messages appeared, want 299", len(got))
		}
		if parked := s.spool.Parked(); len(parked) != 1 || parked[0].ID.Offset != 100 || parked[0].Reason != ReasonRefused {
			t.Errorf("parked: %+v", parked)
		}
		if s.broker.closed != 1 {
			t.Errorf("the shared connection was closed %d times, want once", s.broker.closed)
		}
		if got := s.router.InLanes()[0]; got.State != "running" {
			t.Errorf("lane %+v", got.Condition)
		}
	})
}

func TestALaneStaysApartForAMinuteAfterItsLastSuchMessage(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.deadly = "bad"
		first := federation.Offset(1)
		for range 3 {
			s.router.Copy(l, s.copyOf(7, first, "a", "bad", "c"), (&verdicts{}).answer)
			first += 3
			time.Sleep(30 * time.Second)
			synctest.Wait()
		}

		p := s.broker.publishers[0]
		if got := len(s.spool.Parked()); got != 3 || s.broker.closed != 1 || !p.isApart() {
			t.Errorf("%d parked, the shared connection was closed %d times, apart %v", got, s.broker.closed, p.isApart())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.isApart() {
			t.Error("still apart a minute later")
		}
		s.router.Copy(l, s.copyOf(7, first, "d"), (&verdicts{}).answer)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.broker.bodies(); got[len(got)-1] != "d" {
			t.Errorf("last appeared %q, want d, unflagged", got[len(got)-1])
		}
	})
}

func TestASearchEndsThoughWhatFailedHasExpiredMeanwhile(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		short := s.copyOf(7, 1, "a", "b")
		short.Batch = s.sealed(7, 1, time.Second, "a", "b")
		s.router.Copy(l, short, (&verdicts{}).answer)
		synctest.Wait()

		s.broker.mu.Lock()
		s.broker.silent, s.broker.missing = false, true // nothing is published until both have expired
		s.broker.publishers[0].end(0, federation.Unknown, federation.CodePrecondition)
		s.broker.mu.Unlock()
		time.Sleep(2 * time.Second)
		s.broker.mu.Lock()
		s.broker.missing = false
		s.broker.mu.Unlock()
		s.router.Copy(l, s.copyOf(7, 3, "c"), (&verdicts{}).answer)
		time.Sleep(time.Minute)
		synctest.Wait()

		if diff := cmp.Diff([]string{"c"}, s.broker.bodies()); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
	})
}

func TestALaneWhoseConnectionAnotherLanesMessageClosedComesBackAtOnce(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), (&verdicts{}).answer)
		synctest.Wait()
		p := s.broker.publishers[0]

		s.broker.mu.Lock()
		s.broker.silent = false
		p.end(0, federation.Unknown, 541)
		s.broker.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]string{"a*", "b*"}, s.broker.bodies()); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if parked := s.spool.Parked(); len(parked) != 0 || p.isApart() {
			t.Errorf("parked %+v, apart %v", parked, p.isApart())
		}
	})
}
