package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestATopologyWhoseCopyIsNotWrittenIsActedOnAgainUntilItIs(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.source.refuses = 3
		s.apply(noRoutes)

		time.Sleep(firstActPause + 2*firstActPause + 4*firstActPause)
		synctest.Wait()

		if s.source.refuses != 0 || s.source.applied != 2 { // the first is the story's beginning
			t.Errorf("%d refusals left, %d applied", s.source.refuses, s.source.applied)
		}
		time.Sleep(time.Hour)
		if s.source.applied != 2 {
			t.Errorf("applied %d times, want no more", s.source.applied)
		}
	})
}

func TestNothingOfATopologyIsBoundBeforeItIsWrittenDownWhatMayBe(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.source.holds = 1

		s.apply(drained)

		if s.broker.consumer("theirs") != nil || len(s.source.undone) != 1 || !strings.Contains(s.source.undone[0], "the disk is full") {
			t.Errorf("consumer %v, shown: %q", s.broker.consumer("theirs"), s.source.undone)
		}
		time.Sleep(firstActPause)
		synctest.Wait()
		if s.broker.consumer("theirs") == nil || s.source.applied != 2 { // the first is the story's beginning
			t.Errorf("consumer %v, %d applied", s.broker.consumer("theirs"), s.source.applied)
		}
	})
}
