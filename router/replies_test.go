package router

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestAPeerThatReadsNothingFillsItsOwnQueueAlone(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		l.mu.Lock()
		l.blocked = true
		l.mu.Unlock()
		before := runtime.NumGoroutine()

		for i := range maxReplies + 1000 {
			lane := federation.Lane{Origin: "nyc", Route: federation.RouteID(fmt.Sprintf("r%d", i))}
			s.router.Control(l, federation.LaneOpen{Lane: lane, Mark: federation.LaneMark{Members: []federation.Membership{{Destination: atAms, Join: 1}}}})
		}
		synctest.Wait()

		if more := runtime.NumGoroutine() - before; more > 10 {
			t.Errorf("%d goroutines for the frames of one peer", more)
		}
		if n := s.router.refused.snapshot()[refused{"reply", "more than the link takes"}].count; n < 990 {
			t.Errorf("%d replies were dropped", n)
		}
	})
}

func TestAWaitingReplyIsReplacedByTheNextAboutTheSame(t *testing.T) {
	q := newReplies(func() {})
	q.put(federation.Receipt{Lane: events, Destination: atAms, Done: 1})
	q.put(federation.Window{Lane: events, Destination: atAms, Next: 2})
	q.put(federation.Receipt{Lane: events, Destination: atAms, Done: 5})
	q.put(federation.Receipt{Lane: orders, Destination: atAms, Done: 9})

	var got []federation.Frame
	for f := q.take(); f != nil; f = q.take() {
		got = append(got, f)
	}

	want := []federation.Frame{federation.Receipt{Lane: events, Destination: atAms, Done: 5}, federation.Window{Lane: events, Destination: atAms, Next: 2},
		federation.Receipt{Lane: orders, Destination: atAms, Done: 9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
}
