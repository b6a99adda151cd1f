package router

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestACopyLostWithOneOfALinksConnectionsIsSentAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")

		l.answerOf(0)(federation.LinkLost, 0) // the link itself stays
		synctest.Wait()
		time.Sleep(minPause)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Offset{1, 1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestACopyThatALinkDoesNotTakeIsNotRegardedAsSent(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		l.refuse = errors.New("draining")
		s.publish("a")

		l.mu.Lock()
		l.refuse = nil
		l.mu.Unlock()
		time.Sleep(idleCheck)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Offset{1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestABatchThatThePeerCannotTakeHoldsItsLaneVisibly(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		l.refuse = fmt.Errorf("batch of 9 bytes: %w", federation.ErrTooLarge)
		s.publish("a")

		got := s.router.OutLanes()[0].Destinations[0]
		if got.State != "held" || got.Fix == "" {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestARepairIsDueLessAndLessOftenWhileNoReceiptMoves(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")

		var asked []time.Duration
		began := time.Now()
		for seen := 0; len(asked) < 4; {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := len(framesOf[federation.SyncReq](l)); n > seen {
				seen = n
				asked = append(asked, time.Since(began))
				began = time.Now()
			}
		}

		want := []time.Duration{30 * time.Second, 60 * time.Second, 120 * time.Second, 240 * time.Second}
		for i := range want { // a sender looks every five seconds
			if late := asked[i] - want[i]; late < 0 || late > 2*idleCheck {
				t.Errorf("SYNC %d asked %s after the one before, want %s", i+1, asked[i], want[i])
			}
		}
	})
}

func TestARefusedLaneIsAnnouncedAgainAfterASecond(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		refused := federation.LaneState{Lane: orders, Verdict: federation.TopologyOld, Text: "no route", Destinations: []federation.DestState{{Destination: atNyc}}}
		for range 100 { // a flood of refusals is one refusal
			s.router.Control(l, refused)
		}
		synctest.Wait()

		time.Sleep(refusedAgain)
		synctest.Wait()

		if got := len(framesOf[federation.LaneOpen](l)); got != 2 {
			t.Errorf("the lane was announced %d times, want 2", got)
		}
	})
}
