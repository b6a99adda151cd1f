package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

func TestAnAnswerToALaneThatIsOpenSendsNothingAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		s.publish("b")
		s.word(l, 1, 0) // another destination of its site was asked again

		if diff := cmp.Diff([]federation.Offset{1, 2}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestALaneWithoutALinkPointsAtTheLinksLine(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		got := s.router.OutLanes()[0].Destinations[0]
		if got.State != admin.Waiting || got.Reason != "no link to nyc: see link nyc" || got.Fix != "" {
			t.Errorf("lane %+v", got.Condition)
		}
	})
}

func TestADestinationThatDoesNotSayWhereToGoOnIsNamedWithWhatToLookAt(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		sender := func(after time.Duration) admin.OutDestination {
			time.Sleep(after)
			synctest.Wait()
			return s.router.OutLanes()[0].Destinations[0]
		}
		if got := sender(0); got.State != admin.Starting || got.Reason != "the lane is announced to the destination" || got.Fix != "" {
			t.Errorf("at once: %+v", got.Condition)
		}

		since := time.Now().Add(reopenAfter) // nyc is still busy with what an earlier process of this site sent
		got := sender(time.Minute)
		if got.State != admin.Starting || got.Reason != "nyc has not answered where to go on; it first finishes what earlier came from here, and its broker may be in the way" ||
			got.Fix != "see the lane at the destination: cloudqueue status" || !got.Since.Equal(since) {
			t.Errorf("after a minute: %+v", got.Condition)
		}

		asksSync := federation.LaneState{Lane: orders, Destinations: []federation.DestState{{Destination: atNyc}}}
		s.router.Control(l, asksSync)
		since = time.Now()
		if got := sender(time.Minute); !strings.Contains(got.Reason, "SYNC") || !got.Since.Equal(since) {
			t.Errorf("it asks SYNC: %+v", got.Condition)
		}
		s.word(l, 1, 0)
		if got := sender(0); got.State != admin.Running || got.Reason != "" || got.Fix != "" {
			t.Errorf("it has said where to go on: %+v", got.Condition)
		}
	})
}

func TestABatchThatCannotBeReadHoldsNothingOnceALaterWordWasTaken(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		for _, text := range []string{"first, which will be spoiled", "second", "third"} {
			s.publish(large(text))
		}
		sealed := s.router.identity.Epoch
		s.restarted()
		s.start()
		s.spoil("first, which will be spoiled")
		l := s.link()
		s.receipt(l, 1, sealed)
		if got := s.router.OutLanes()[0].Destinations[0]; got.State != federation.StateHeld {
			t.Fatalf("lane %+v, want held: its batch is not readable", got.Condition)
		}

		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 2, Last: 2, Reason: federation.VoidDetach, Who: "test"}); err != nil {
			t.Fatal(err)
		}
		s.receipt(l, 2, 0)
		time.Sleep(2 * idleCheck)
		s.word(l, 3, 0)

		if got := s.router.OutLanes()[0].Destinations[0]; got.State != federation.StateRunning {
			t.Errorf("lane %+v", got.Condition)
		}
		if diff := cmp.Diff([]federation.Offset{3, 4, 5}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestALaneIsAnnouncedAgainWhenItsDestinationHasAdoptedAndNotAtEveryWindow(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		l := s.link()
		gen := s.router.out[orders].generation()
		window := federation.Window{Lane: orders, Generation: gen, Destination: atNyc, Next: 1, Bytes: 4 << 20}
		announced := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := len(framesOf[federation.LaneOpen](l)); got != want {
				t.Errorf("%s: announced %d times, want %d", when, got, want)
			}
		}
		for range 10 { // of what an earlier process of this site sent: the answer comes when that is finished
			s.router.Control(l, window)
		}
		announced("while the answer is awaited", 1)

		s.router.Control(l, federation.LaneState{Lane: orders, Destinations: []federation.DestState{{Destination: atNyc}}})
		announced("while the destination asks SYNC", 1)

		s.router.Control(l, window)
		announced("when it has adopted the answer", 2)
	})
}
