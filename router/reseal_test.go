package router

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// reseal gives the store of a stopped router a new identity and seals its lanes again.
func (s *story) reseal() *admin.ResealResult {
	s.t.Helper()
	s.disk.NewID(time.Now())
	store, err := s.disk.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	sp, err := spool.Open(s.t.Context(), store, spool.Config{})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- sp.Run(ctx) }()
	result, err := Reseal(s.t.Context(), sp, "ams", admin.ResealRequest{Who: "test", Why: "put back"})
	stop()
	<-done
	if err != nil {
		s.t.Fatal(err)
	}
	if err := sp.Close(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return result
}

func TestAResealedStoreKeepsNothingOfTheOldGeneration(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		s.publish("b")
		s.end()
		time.Sleep(time.Second)
		result := s.reseal()

		s.start()
		synctest.Wait()

		var kept []federation.Generation
		for _, e := range s.spool.Extents() {
			kept = append(kept, e.Generation)
		}
		if diff := cmp.Diff([]federation.Generation{result.Lanes[0].Generation}, kept); diff != "" {
			t.Errorf("generations in the store (-want +got):\n%s", diff)
		}
		if got := result.Lanes[0].Messages; got != 2 {
			t.Errorf("%d messages were sealed again, want 2", got)
		}
	})
}

func TestWhatWasGivenUpIsNotSealedAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		s.publish("b")
		s.publish("c")
		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 2, Last: 2, Reason: "corrupt", Who: "test"}); err != nil {
			t.Fatal(err)
		}
		s.end()
		time.Sleep(time.Second)

		if got := s.reseal().Lanes[0].Messages; got != 2 {
			t.Errorf("%d messages were sealed again, want 2", got)
		}
	})
}
