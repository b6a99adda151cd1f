package router

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool/memstore"
)

func TestAMessageThatTheStoreCannotTakeHoldsItsLaneAndNothingElse(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish(strings.Repeat("0", 20<<20)) // over the route's limit, and too large to be parked

		if got := s.router.OutLanes()[0]; got.State != "held" || got.Fix == "" {
			t.Errorf("lane %+v", got.Condition)
		}
		time.Sleep(lookPause - time.Second)
		if !s.broker.consumer("cq.out.orders").isPaused() {
			t.Error("it was looked at again within the minute")
		}
		time.Sleep(2 * time.Second)
		s.publish("a") // somebody moved it out of the way
		if got := s.router.OutLanes()[0]; got.State != "running" {
			t.Errorf("lane %+v", got.Condition)
		}
		if diff := cmp.Diff([]federation.Offset{1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestWhatCameBeforeAMessageThatTheStoreCannotTakeGoesOn(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		in := s.router.out[orders].in
		var list []takenDelivery
		for i, body := range []string{"a", "b", strings.Repeat("0", 20<<20), "c"} {
			list = append(list, takenDelivery{federation.Delivery{Tag: federation.Tag{Incarnation: 1, Number: uint64(i + 1)}, Message: federation.Message{Exchange: "orders", RoutingKey: "k", Body: []byte(body)}}, time.Now()})
		}
		in.lastSeen = 1

		second, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := in.submit(second, list); !errors.Is(err, context.DeadlineExceeded) { // it waits before the next look
			t.Fatal(err)
		}
		synctest.Wait()

		if got := s.router.OutLanes()[0]; got.State != "held" || got.LastAssigned != 2 || !strings.Contains(got.Fix, "cq.out.orders") {
			t.Errorf("lane at %d: %+v", got.LastAssigned, got.Condition)
		}
		if diff := cmp.Diff([]federation.Offset{1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestLargeMessagesAreParkedInCommitsThatTheStoreTakes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.limit = 1 << 20
		large := strings.Repeat("0", 2<<20)
		list := make([]string, 7)
		for i := range list {
			list[i] = large
		}
		for first := federation.Offset(1); first < 29; first += 7 {
			s.router.Copy(l, s.copyOf(7, first, list...), (&verdicts{}).answer)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()

		if got := len(s.spool.Parked()); got != 28 {
			t.Errorf("%d messages are parked, want 28", got)
		}
		if got := s.router.InLanes()[0]; got.Done != 28 {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestALaneThatAFullStoreRefusedWaitsForRoomForJustThatBatch(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.opened()
		const aside = 64 << 20 // a segment of space is set aside for marks
		leave := func(room uint64) {
			u := s.spool.Usage()
			s.disk.SetCapacity(u.Used + u.Reserve + aside + room)
			time.Sleep(2 * time.Second) // the spool asks the disk
		}
		leave(100 << 10)
		body := make([]byte, 200<<10)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(body) // never fails
		s.publish(string(body))
		if got := s.router.OutLanes()[0]; got.State != "held" || !strings.Contains(got.Reason, "full") || !s.spool.Usage().Full {
			t.Errorf("lane %+v, store %+v", got.Condition, s.spool.Usage())
		}
		asked := s.broker.consumer("cq.out.orders").incarnation

		leave(150 << 10) // a smaller one would fit
		time.Sleep(time.Minute)
		if got := s.broker.consumer("cq.out.orders").incarnation; got != asked {
			t.Errorf("the broker was asked %d times for what does not fit", got-asked)
		}
		leave(64 << 20)
		time.Sleep(2 * refusePause)
		if got := s.router.OutLanes()[0]; got.State != "running" || s.spool.Usage().Full {
			t.Errorf("lane %+v, store %+v", got.Condition, s.spool.Usage())
		}
		s.publish("a")
		if got := s.router.OutLanes()[0]; got.LastAssigned != 1 {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestAStoreThatDoesNotAnswerIsShownByItsLanes(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.disk.SetFault(func(op memstore.Op) memstore.Fault { return memstore.Fault{Delay: 40 * time.Second} })
		s.publish("a")
		time.Sleep(15 * time.Second)
		if got := s.router.OutLanes()[0]; got.State != "held" || !strings.Contains(got.Reason, "does not answer") || got.Fix == "" {
			t.Errorf("lane %+v", got.Condition)
		}

		s.disk.SetFault(nil)
		time.Sleep(time.Minute)
		if got := s.router.OutLanes()[0]; got.State != "running" {
			t.Errorf("lane %+v", got.Condition)
		}
	})
}

func TestNothingIsTakenWhileTheStoreIsUnwellWhateverElseIsOver(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Err: errors.New("the disk is gone")} })
		s.publish("a")
		time.Sleep(time.Minute - refusePause/2)
		s.publish(strings.Repeat("0", 20<<20)) // refused for a second, in which the store's minute ends
		time.Sleep(2 * refusePause)
		synctest.Wait()

		c := s.broker.consumer("cq.out.orders")
		if got := s.router.OutLanes()[0]; !c.isPaused() || !strings.Contains(got.Reason, "the disk is gone") {
			t.Errorf("paused %t, lane %+v", c.isPaused(), got.Condition)
		}
		s.disk.SetFault(nil)
		time.Sleep(time.Minute)
		if got := s.router.OutLanes()[0]; c.isPaused() || !strings.Contains(got.Reason, "larger than the store") {
			t.Errorf("paused %t, lane %+v", c.isPaused(), got.Condition)
		}
	})
}
