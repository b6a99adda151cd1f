package router

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// lanesIn is how many lanes that end here take a channel of the broker's.
func (s *story) lanesIn() int {
	s.router.mu.Lock()
	defer s.router.mu.Unlock()
	return len(s.router.in)
}

// rested is a link on which lane events was opened, brought one message, lost its route and was let go.
func (s *story) rested() *fakeLink {
	s.t.Helper()
	l := s.begun(7)
	v := &verdicts{}
	s.router.Copy(l, s.copyOf(7, 1, "a"), v.answer)
	time.Sleep(time.Second)
	s.apply(noRoutes)
	time.Sleep(restAfter + 2*time.Second)
	synctest.Wait()
	if n := s.lanesIn(); n != 0 {
		s.t.Fatalf("%d lanes a minute after the route went", n)
	}
	return l
}

func (s *story) reopen(l *fakeLink, last federation.Offset) {
	s.t.Helper()
	s.router.Control(l, federation.LaneOpen{Lane: events, LastAssigned: last, FirstRetained: 1,
		Mark: federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}})
	synctest.Wait()
}

func TestALaneThatIsDoneIsLetGoAMinuteAfterItsRouteWent(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.rested()

		lanes := s.router.InLanes()
		if len(lanes) != 1 || lanes[0].State != admin.Closed || lanes[0].Done != 1 || lanes[0].Reserved != 1 {
			t.Errorf("status %+v, want one closed lane that is done and reserves nothing", lanes)
		}
	})
}

func TestALaneAtRestIsAnsweredFromItsJournal(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.rested()
		l := s.link()

		s.reopen(l, 1)

		states, receipts, windows := framesOf[federation.LaneState](l), framesOf[federation.Receipt](l), framesOf[federation.Window](l)
		if len(states) != 1 || len(receipts) != 1 || len(windows) != 1 || s.lanesIn() != 0 {
			t.Fatalf("%d states, %d receipts, %d windows, %d lanes", len(states), len(receipts), len(windows), s.lanesIn())
		}
		if st := states[0]; st.Verdict != federation.OK || st.KnownGeneration != 7 || st.Destinations[0].NextWanted != 2 || receipts[0].Done != 1 || windows[0].Next != 2 {
			t.Errorf("state %+v, receipt %+v, window %+v", st, receipts[0], windows[0])
		}
	})
}

func TestALaneAtRestGoesOnWhenItsOriginSendsAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.rested()
		v := &verdicts{}

		for range 2 { // the first one wakes it
			s.router.Copy(l, s.copyOf(7, 2, "b"), v.answer)
			time.Sleep(windowRetry)
			synctest.Wait()
		}

		// The first is given back, unless the lane is awake before it is looked at; then the second is the repeat.
		if got := v.all(); len(got) != 2 || len(slices.DeleteFunc(got, func(v federation.Verdict) bool { return v != federation.OK })) != 1 {
			t.Errorf("verdicts %v, want one of two to be OK", v.all())
		}
		if diff := cmp.Diff([]string{"a", "b"}, s.broker.bodies()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
		if n := len(s.broker.publishers); n != 1 {
			t.Errorf("%d owner locks, want the one that it had before", n)
		}
	})
}

func TestALaneWithMoreToBringIsNotLetGo(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.rested()
		l := s.link()

		s.reopen(l, 3)
		time.Sleep(10 * restAfter)
		synctest.Wait()

		if n := s.lanesIn(); n != 1 {
			t.Errorf("%d lanes, want the one whose origin has two more messages", n)
		}
	})
}

func TestALaneWithARouteIsNotLetGo(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.begun(7)

		time.Sleep(10 * restAfter)
		synctest.Wait()

		if n := s.lanesIn(); n != 1 {
			t.Errorf("%d lanes, want one", n)
		}
	})
}
