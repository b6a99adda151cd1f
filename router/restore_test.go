package router

import (
	"strings"
	"testing"
	"testing/synctest"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

func TestARouterThatCannotRestoreWaitsForWhatItHasStarted(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		unreadable := spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkOwner}, Value: []byte{99}}
		if err := s.spool.Commit(t.Context(), unreadable); err != nil {
			t.Fatal(err)
		}
		s.end()

		s.start()

		synctest.Wait()
		if err := <-s.ended; err == nil || !strings.Contains(err.Error(), "owner locks") {
			t.Errorf("got %v, want what is wrong with the owner locks", err)
		}
		if s.router.out[orders] == nil || !s.router.over {
			t.Errorf("lane orders began: %v; nothing may begin any more: %v", s.router.out[orders] != nil, s.router.over)
		}
		s.closed = true
	})
}
