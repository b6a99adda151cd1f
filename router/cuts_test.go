package router

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestAMessageOverWhichTheConnectionIsCutEachTimeIsNamedAloneAndNeverParked(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.deadly, s.broker.mute = "m100", true
		s.router.Copy(l, s.copyOf(7, 1, bodies(300)...), (&verdicts{}).answer)
		time.Sleep(time.Hour)
		synctest.Wait()

		held := s.router.InLanes()[0]
		if name := fmt.Sprintf("message %s@7:100, ", events); held.State != federation.StateHeld || !strings.Contains(held.Reason, name) || held.Fix == "" {
			t.Errorf("lane %+v, want held over %q", held.Condition, name)
		}
		if since := time.Since(held.Since); since < 59*time.Minute {
			t.Errorf("held since %v: it was said anew", since)
		}
		if got := unflagged(s.broker.bodies()); len(got) != 99 {
			t.Errorf("%d messages appeared, want the 99 before it", len(got))
		}
		if parked := s.spool.Parked(); len(parked) != 0 {
			t.Errorf("parked: %+v", parked)
		}
		if s.broker.closed != cutsBeforeSearch {
			t.Errorf("the shared connection was cut %d times, want %d", s.broker.closed, cutsBeforeSearch)
		}

		s.broker.mu.Lock()
		s.broker.deadly = "" // the broker was mended
		s.broker.mu.Unlock()
		time.Sleep(2 * apartStay)
		synctest.Wait()

		if diff := cmp.Diff(bodies(300), unflagged(s.broker.bodies())); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if got := s.router.InLanes()[0]; got.State != federation.StateRunning || s.broker.publishers[0].isApart() {
			t.Errorf("lane %+v, apart %v", got.Condition, s.broker.publishers[0].isApart())
		}
	})
}

// lost publishes one batch that the broker never answers, and cuts the connection so often; each time the lane has published again.
func (s *story) lost(l *fakeLink, first federation.Offset, times int, texts ...string) {
	s.t.Helper()
	answers := s.broker.setSilent()
	s.router.Copy(l, s.copyOf(7, first, texts...), (&verdicts{}).answer)
	for range times {
		time.Sleep(time.Second)
		synctest.Wait()
		s.broker.publishers[0].lose()
	}
	answers()
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

func TestABrokerThatIsLostAndAnswersInBetweenIsNoMessagesFault(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		for i := range 5 {
			s.lost(l, federation.Offset(2*i+1), cutsBeforeSearch-1, fmt.Sprint("a", i), fmt.Sprint("b", i))
		}

		want := []string{"a0*", "b0*", "a1*", "b1*", "a2*", "b2*", "a3*", "b3*", "a4*", "b4*"}
		if diff := cmp.Diff(want, s.broker.bodies()); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if p := s.broker.publishers[0]; p.incarnation != 1+5*(cutsBeforeSearch-1) {
			t.Errorf("incarnation %d: the lane went to another connection", p.incarnation)
		}
	})
}

func TestAnOutageThatCutsAgainAndAgainParksNothingAndLeavesNoTrace(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)

		s.lost(l, 1, 20, bodies(50)...)
		time.Sleep(2 * apartStay)
		synctest.Wait()

		if diff := cmp.Diff(bodies(50), unflagged(s.broker.bodies())); diff != "" {
			t.Errorf("appeared (-want +got):\n%s", diff)
		}
		if parked, got := s.spool.Parked(), s.router.InLanes()[0]; len(parked) != 0 || got.State != federation.StateRunning || s.broker.publishers[0].isApart() {
			t.Errorf("parked %+v, lane %+v, apart %v", parked, got.Condition, s.broker.publishers[0].isApart())
		}
	})
}
