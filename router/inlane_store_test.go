package router

import (
	"errors"
	"testing"
	"testing/synctest"

	"cloudqueue/router/spool"
)

// A journal that cannot be submitted any more must not be tried in a circle.
func TestALaneWhoseStoreIsOverEndsTheRouter(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.disk.Kill() // another process has claimed the store

		s.router.Copy(l, s.copyOf(7, 1, "a"), (&verdicts{}).answer)
		synctest.Wait()

		select {
		case err := <-s.ended:
			s.closed = true
			if !errors.Is(err, spool.ErrFenced) {
				t.Errorf("the router ended with %v", err)
			}
		default:
			t.Error("the router goes on without a store")
		}
	})
}
