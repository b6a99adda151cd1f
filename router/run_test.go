package router

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// A journal that cannot be submitted any more must not be tried in a circle.
func TestALaneWhoseStoreIsOverEndsTheRouter(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.disk.Kill() // another process has claimed the store

		s.router.Copy(l, s.copyOf(7, 1, "a"), (&verdicts{}).answer)
		synctest.Wait()

		s.wantEnded(spool.ErrFenced)
	})
}

func TestALaneThatCannotTakeAnOwnerLockEndsTheRouter(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.apply(twoRoutes + `  more:
    from: {site: nyc, exchange: more, keys: ["#"]}
    to: [{site: ams}]
`)
		l := s.begun(7)
		s.disk.Kill()

		more := federation.Lane{Origin: "nyc", Route: "more"} // its lock is the second one, which the store has to know of
		s.router.Control(l, federation.LaneOpen{Lane: more, Mark: federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}, FirstRetained: 1})
		synctest.Wait()

		s.wantEnded(spool.ErrFenced)
	})
}

// wantEnded checks that the router has ended by itself, with this error.
func (s *story) wantEnded(want error) {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.closed = true
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "lane nyc/") {
			s.t.Errorf("the router ended with %v", err)
		}
	default:
		s.t.Error("the router goes on without a store")
	}
}
