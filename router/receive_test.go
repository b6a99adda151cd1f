package router

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

func TestWhatIsNotAllowedOrBrokenIsRefusedBeforeItsLane(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		good := s.copyOf(7, 1, "a")
		flipped := append([]byte(nil), good.Batch...)
		flipped[len(flipped)-1] ^= 1
		other := &fakeLink{peer: "sin"}
		tests := []struct {
			name string
			from Link
			c    federation.Copy
			want federation.Verdict
		}{
			{"good", l, good, federation.OK},
			{"empty", l, federation.Copy{Sidecar: federation.Sidecar{Bitmap: 1}}, federation.Corrupt},
			{"a bit flipped", l, federation.Copy{Sidecar: federation.Sidecar{Bitmap: 1}, Batch: flipped}, federation.Corrupt},
			{"of another origin than the link's peer", other, good, federation.NoGrant},
			{"for nobody", l, federation.Copy{Batch: good.Batch}, federation.NoPath},
			{"for a destination that the batch does not have", l, federation.Copy{Sidecar: federation.Sidecar{Bitmap: 2}, Batch: good.Batch}, federation.NoPath},
			{"for two destinations", l, federation.Copy{Sidecar: federation.Sidecar{Bitmap: 3}, Batch: good.Batch}, federation.NoPath},
		}
		for _, tt := range tests {
			if got, _, _, _ := s.router.judge(tt.from, tt.c); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
}

func TestALaneThatNoRouteGrantsIsRefused(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		for _, lane := range []federation.Lane{{Origin: "nyc", Route: "secret"}, {Origin: "sin", Route: "events"}} {
			s.router.Control(l, federation.LaneOpen{Lane: lane, Mark: federation.LaneMark{Members: []federation.Membership{{Destination: atAms, Join: 1}}}})
		}
		s.router.Control(l, federation.LaneOpen{Lane: federation.Lane{Origin: "nyc", Route: "astray"}})
		synctest.Wait()

		var got []federation.Verdict
		for _, st := range framesOf[federation.LaneState](l) {
			got = append(got, st.Verdict)
		}
		if diff := cmp.Diff([]federation.Verdict{federation.TopologyOld, federation.NoGrant, federation.NoPath}, got); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if n := len(s.router.InLanes()); n != 0 {
			t.Errorf("%d lanes were begun", n)
		}
	})
}

func TestARefusedLaneReadsNoOtherLanesJournals(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var others []spool.Record
		for i := range 1000 {
			lane := federation.Lane{Origin: "nyc", Route: federation.RouteID(fmt.Sprintf("other%d", i))}
			key := federation.MarkKey{Kind: federation.MarkJournal, Lane: lane, Generation: 1, Dest: atAms}
			others = append(others, spool.MarkRecord{Key: key, Value: federation.Journal{Join: 1}.Encode()})
		}
		if err := s.spool.Commit(t.Context(), others...); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		secret := inKey{federation.Lane{Origin: "nyc", Route: "secret"}, atAms}
		if n := testing.AllocsPerRun(10, func() { s.router.hasJournal(secret) }); n > 10 {
			t.Errorf("%v allocations to find that a lane has no journal", n)
		}
		if n := testing.AllocsPerRun(10, func() { _, _, _ = s.router.latestJournal(secret) }); n > 10 {
			t.Errorf("%v allocations to read a lane's journal", n)
		}
	})
}

func TestALaneTooManyIsRefusedWithWhatToRaiseOnBothSides(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.router.cfg.MaxLanes = 0
		l := s.link()
		s.router.Control(l, eventsOpen(1, 0))
		synctest.Wait()

		answers := framesOf[federation.LaneState](l)
		if len(answers) != 1 || answers[0].Verdict != federation.Full {
			t.Fatalf("answers %+v", answers)
		}
		if n, fix := s.refusals("lane", federation.Full); n != 1 || fix != "raise max-lanes in the router file of ams" {
			t.Errorf("%d counted, with %q", n, fix)
		}
		refused := answers[0] // and what an origin shows of it
		refused.Lane, refused.Destinations = orders, []federation.DestState{{Destination: atNyc}}
		s.router.Control(l, refused)
		synctest.Wait()
		if got := s.router.OutLanes()[0].Destinations[0]; got.Reason != "nyc answers FULL: 0 lanes end at ams already" || got.Fix != "raise max-lanes in the router file of ams" {
			t.Errorf("lane %+v", got.Condition)
		}
	})
}
