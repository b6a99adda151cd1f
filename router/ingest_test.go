package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestAMessageThatTheStoreCannotTakeHoldsItsLaneAndNothingElse(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish(strings.Repeat("0", 20<<20)) // over the route's limit, and too large to be parked

		if got := s.router.OutLanes()[0]; got.State != "held" || got.Fix == "" {
			t.Errorf("lane %+v", got.Condition)
		}
		time.Sleep(2 * refusePause)
		s.publish("a") // somebody moved it out of the way
		if got := s.router.OutLanes()[0]; got.State != "running" {
			t.Errorf("lane %+v", got.Condition)
		}
		if diff := cmp.Diff([]federation.Offset{1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestLargeMessagesAreParkedInCommitsThatTheStoreTakes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.limit = 1 << 20
		large := strings.Repeat("0", 2<<20)
		list := make([]string, 7)
		for i := range list {
			list[i] = large
		}
		for first := federation.Offset(1); first < 29; first += 7 {
			s.router.Copy(l, s.copyOf(7, first, list...), (&verdicts{}).answer)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()

		if got := len(s.spool.Parked()); got != 28 {
			t.Errorf("%d messages are parked, want 28", got)
		}
		if got := s.router.InLanes()[0]; got.Done != 28 {
			t.Errorf("lane %+v", got)
		}
	})
}
