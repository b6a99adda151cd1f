package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

func TestStatusNamesAClassOfTheDocumentsOwn(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.apply(strings.Replace(twoRoutes, "    to: [{site: nyc}]\n", "    to: [{site: nyc}]\n    class: gold\n", 1) + "classes: {gold: {}}\n")

		if got := s.router.OutLanes()[0].Class; got != "gold" {
			t.Errorf("the lane's class is %q, want gold", got)
		}
	})
}

func TestStatusShowsALaneThatItsOriginHasNotOpenedSinceTheStart(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.router.Copy(l, s.copyOf(7, 1, "a", "b", "c"), (&verdicts{}).answer)
		time.Sleep(2 * journalPause)
		s.end()

		s.start()

		want := []admin.InLane{{Condition: admin.Condition{State: admin.Starting, Reason: "its origin has not opened it since this router started"}, Lane: "nyc/events", Generation: 7,
			Destination: "ams", From: "nyc", Join: 1, Done: 3, Reserved: 3, NextWanted: 4, Counters: admin.Counters{Delivered: 3}}}
		if diff := cmp.Diff(want, s.router.InLanes()); diff != "" {
			t.Errorf("lanes (-want +got):\n%s", diff)
		}
		s.router.Control(s.link(), eventsOpen(1, 3))
		synctest.Wait()
		if got := s.router.InLanes(); len(got) != 1 || got[0].State != admin.Running || got[0].Done != 3 {
			t.Errorf("lanes %+v, want one that runs at 3", got)
		}
	})
}

func TestAStoredLaneWhoseRouteWasRemovedIsClosed(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.router.Copy(l, s.copyOf(7, 1, "a"), (&verdicts{}).answer)
		time.Sleep(2 * journalPause)
		s.end()

		s.start()
		s.apply(twoRoutes[:strings.Index(twoRoutes, "  events:")])

		if got := s.router.InLanes(); len(got) != 1 || got[0].State != admin.Closed || got[0].Reason != "its route is not in the topology" {
			t.Errorf("lanes %+v, want one that is closed", got)
		}
	})
}
