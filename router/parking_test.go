package router

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool/memstore"
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

func TestTheEndsOfManyParkingsShareACommit(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		const n = 50
		act := func(do func(context.Context, admin.ParkAction) (*admin.ParkResult, error)) (commits federation.LSN) {
			before := s.spool.LastLSN()
			done, err := do(t.Context(), admin.ParkAction{Who: "test", Why: "seen"})
			if err != nil || done.Done != n {
				t.Fatalf("%+v, %v", done, err)
			}
			return s.spool.LastLSN() - before
		}
		s.parkAll(n)
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Delay: time.Second} })

		if got := act(s.router.Drop); got > n/5 {
			t.Errorf("%d commits for %d drops", got, n)
		}
		s.disk.SetFault(nil)
		s.parkAll(n)
		s.apply(forBoth + "1KiB")
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Delay: time.Second} })
		synctest.Wait()
		if got := act(s.router.Redrive); got > n/5 {
			t.Errorf("%d commits for %d messages sealed again", got, n)
		}
	})
}

func TestAStopAnswersARedriveThatTheStoreKeepsWaiting(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.parkAll(1)
		s.apply(forBoth + "1KiB")
		s.disk.SetFault(func(memstore.Op) memstore.Fault { return memstore.Fault{Err: errors.New("the disk is gone")} })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		answered := make(chan *admin.ParkResult, 1)
		began := time.Now()
		go func() {
			got, _ := s.router.Redrive(ctx, admin.ParkAction{Who: "test", Why: "the limit was raised"})
			answered <- got
		}()
		synctest.Wait()
		s.end()

		got := <-answered
		if took := time.Since(began); took > time.Minute || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error, "the router stops") {
			t.Errorf("after %s: %+v", took, got)
		}
	})
}

func TestAWordOnAMessageThatHasNoParksNameIsRefused(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.parkAll(1)
		action := admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{"ams/orders@1:2>nyc", "garbage"}}, Who: "test", Why: "seen"}
		for _, do := range []func(context.Context, admin.ParkAction) (*admin.ParkResult, error){s.router.Drop, s.router.Redrive} {
			_, err := do(t.Context(), action)
			var bad *admin.Error
			if !errors.As(err, &bad) || bad.Code != admin.BadRequest || !strings.Contains(bad.Message, "garbage") {
				t.Errorf("got %v", err)
			}
		}
	})
}
