package router

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// parkAll parks one message of lane orders after the other, since the route takes none of their size.
func (s *story) parkAll(n int) {
	s.t.Helper()
	s.apply(forBoth + "1B")
	for range n {
		s.give("both", "", "larger than that")
	}
	if got := len(s.spool.Parked()); got != n {
		s.t.Fatalf("%d messages are parked, want %d", got, n)
	}
}

func (s *story) offsetsParked(f admin.ParkFilter) (offsets []federation.Offset, last string) {
	s.t.Helper()
	list, err := s.router.Parked(s.t.Context(), f)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range list.Parked {
		offsets, last = append(offsets, p.Offset), p.ID
	}
	return offsets, last
}

func TestAListGoesOnBehindAMessageThatIsNotParkedAnyMore(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.parkAll(4)
		_, last := s.offsetsParked(admin.ParkFilter{Limit: 2})
		done, err := s.router.Drop(t.Context(), admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{last}}, Who: "test", Why: "seen"})
		if err != nil || done.Done != 1 {
			t.Fatalf("%+v, %v", done, err)
		}

		got, _ := s.offsetsParked(admin.ParkFilter{After: last})

		if diff := cmp.Diff([]federation.Offset{3, 4}, got); diff != "" {
			t.Errorf("the next page (-want +got):\n%s", diff)
		}
	})
}
