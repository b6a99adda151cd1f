package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
)

func TestAGapThatTheOriginTellsOfIsPassedWhenWhatIsBelowItHasEnded(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.silent = true
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), (&verdicts{}).answer)
		synctest.Wait()

		s.router.Control(l, federation.Sync{Lane: events, Generation: 7, Destination: atAms, Join: 10, FirstRetained: 1})
		synctest.Wait()
		s.broker.mu.Lock()
		s.broker.silent = false
		s.broker.mu.Unlock()
		s.broker.publishers[0].answer()
		time.Sleep(2 * journalPause)
		synctest.Wait()

		if got := s.router.InLanes()[0]; got.Done != 9 || got.Counters.Delivered != 2 || got.Counters.Excluded != 7 {
			t.Errorf("done %d, counters %+v, want 9 with 2 delivered and 7 excluded", got.Done, got.Counters)
		}
	})
}

func TestOnlyAnOlderStoreIsToldToTakeANewIdentity(t *testing.T) {
	for v, want := range map[federation.Verdict]bool{federation.Fenced: true, federation.NoGrant: false, federation.TopologyOld: false, federation.Conflict: false} {
		t.Run(v.String(), func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				l := s.begun(7)

				s.router.Control(l, federation.Sync{Lane: events, Generation: 7, Destination: atAms, Verdict: v, Text: "no"})
				synctest.Wait()

				got := s.router.InLanes()[0]
				if got.State != "held" || got.Fix == "" || strings.Contains(got.Fix, "new-id") != want {
					t.Errorf("lane %+v", got.Condition)
				}
			})
		})
	}
}
