package router

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool/memstore"
)

func TestAStopEndsWithItsGraceWhileTheStoreIsUnwell(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Err: errors.New("the disk is gone")} })
		s.publish("a")

		if took := s.end(); took > 11*time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}

func TestARouteIsRemovedAndTheRouterStoppedWhileTheStoreIsUnwell(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.apply(drained)
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Err: errors.New("the disk is gone")} })
		c := s.broker.consumer("theirs")
		c.give("a")
		synctest.Wait()
		s.apply(noRoutes) // it waits for what is numbered

		if took := s.end(); took > 11*time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}

const noRoutes = `
federation: acme
sites:
  ams: {listen: ["127.0.0.1:1"]}
  nyc: {listen: ["127.0.0.1:2"]}
`

const drained = noRoutes + `routes:
  theirs:
    from: {site: ams, queue: theirs}
    to: [{site: nyc}]
`

func TestAStopDrainsTheEndpointWithAllItsLinks(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.begun(7)

		s.end()

		if !s.peers.drained.Load() {
			t.Error("the endpoint was not drained: links could come up while the router stops")
		}
	})
}

func TestAStopDoesNotWaitForTheBrokersAlarm(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.setAlarm()
		v := &verdicts{}
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), v.answer)
		synctest.Wait()

		if took := s.end(); took > time.Second {
			t.Errorf("the stop took %s", took)
		}
	})
}

func TestAStopGivesBackWhatIsNotPublished(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		v := &verdicts{}
		s.router.Copy(l, s.copyOf(7, 2, "b"), v.answer) // 1 is missing
		synctest.Wait()

		s.end()
		s.router.Copy(l, s.copyOf(7, 1, "a"), v.answer)

		if diff := cmp.Diff([]federation.Verdict{federation.WindowShut, federation.WindowShut}, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

func TestNothingIsReservedAfterACleanStop(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.router.Copy(l, s.copyOf(7, 1, "a", "b", "c"), (&verdicts{}).answer)
		synctest.Wait()
		s.end()

		s.start()
		l = s.link()
		s.router.Control(l, federation.LaneOpen{Lane: events, Mark: federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}})
		synctest.Wait()
		s.router.Copy(l, s.copyOf(7, 4, "d"), (&verdicts{}).answer)
		time.Sleep(time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]string{"d"}, s.broker.bodies()); diff != "" {
			t.Errorf("published after the restart (-want +got):\n%s", diff)
		}
	})
}
