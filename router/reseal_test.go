package router

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// reseal gives the store of a stopped router a new identity and seals its lanes again.
func (s *story) reseal() *ResealResult {
	s.t.Helper()
	result, err := s.tryReseal(ResealRequest{Who: "test", Why: "put back"})
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

func (s *story) tryReseal(q ResealRequest) (*ResealResult, error) {
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
	result, err := Reseal(s.t.Context(), sp, "ams", q)
	stop()
	<-done
	if err := sp.Close(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return result, err
}

// holding gives the last segment that holds a text: an opening copies what it finds at the log's end.
func (s *story) holding(text string) (number uint64) {
	s.t.Helper()
	for _, n := range s.disk.Numbers() {
		if bytes.Contains(s.disk.Segment(n), []byte(text)) {
			number = max(number, n)
		}
	}
	if number == 0 {
		s.t.Fatalf("%q is not in the store", text)
	}
	return number
}

// large makes a body of a text and 32 KiB that nothing makes smaller: cleaning leaves it where it stands.
func large(text string) string {
	noise := make([]byte, 32<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	return text + string(noise)
}

// restarted ends the router, and lets two lives follow: a later segment begins with all marks, so that what holds the batches
// holds nothing else that counts.
func (s *story) restarted() {
	s.end()
	for _, body := range []string{"later", "later still"} {
		s.start()
		s.publish(body)
		s.end()
	}
}

// spoil changes a byte of a text in the store.
func (s *story) spoil(text string) {
	s.t.Helper()
	n := s.holding(text)
	b := bytes.Clone(s.disk.Segment(n))
	b[bytes.Index(b, []byte(text))] ^= 1
	s.disk.SetSegment(n, b)
}

func TestWhatCannotBeReadStopsAResealUntilItIsGivenUp(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		for _, text := range []string{"first", "second, which will be spoiled", "third"} {
			s.publish(large(text))
		}
		s.restarted()
		s.spoil("second, which will be spoiled")
		time.Sleep(time.Second)

		q := ResealRequest{Who: "test", Why: "put back"}
		var refused *admin.Error
		if _, err := s.tryReseal(q); !errors.As(err, &refused) || refused.Code != admin.Refused ||
			!strings.Contains(refused.Message, "ams/orders: 1 messages (2-2)") || !strings.Contains(refused.Fix, "reseal --void") {
			t.Fatalf("without a word: %v", err)
		}
		time.Sleep(time.Second)
		q.Void = true
		result, err := s.tryReseal(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Lanes[0]; got.Messages != 4 || !slices.Equal(got.Voided, []string{"2-2"}) {
			t.Errorf("sealed again: %+v, want 4 messages, and 2-2 given up", got)
		}

		s.start()
		synctest.Wait()
		voids, err := storedVoids(s.spool, orders, result.Lanes[0].Old)
		if err != nil || len(voids.Voids) != 2 || voids.Voids[0].Span != (federation.Span{First: 2, Last: 2}) || voids.Voids[0].Reason != "corrupt" {
			t.Errorf("voids of the old generation: %+v, %v", voids, err)
		}
		if !slices.ContainsFunc(s.spool.Audits(), func(a spool.AuditRecord) bool {
			return strings.Contains(a.What, "abandoned 1 messages (2-2) of ams/orders")
		}) {
			t.Errorf("audits %+v", s.spool.Audits())
		}
	})
}

func TestAMissingSegmentStopsAReseal(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish(large("first, in a segment that gets lost"))
		s.restarted()
		s.disk.SetSegment(s.holding("first, in a segment that gets lost"), nil)
		time.Sleep(time.Second)

		var refused *admin.Error
		if _, err := s.tryReseal(ResealRequest{Who: "test", Why: "put back"}); !errors.As(err, &refused) || !strings.Contains(refused.Message, "(1-1)") {
			t.Errorf("%v, want offset 1 named", err)
		}
	})
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

func TestStatusCountsALanesPresentGenerationAlone(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		s.publish("b")
		lane := s.router.OutLanes()[0]
		s.spool.Forget(orders, lane.Generation, 1)
		unfinished := federation.Header{Lane: orders, Generation: lane.Generation + 1, First: 1, SealEpoch: 1, SealedAt: time.Now(), Destinations: []federation.Destination{atNyc}} // of a reseal
		coder, err := federation.NewCoder()
		if err != nil {
			t.Fatal(err)
		}
		b, err := federation.Seal(unfinished, []federation.Entry{{TTL: federation.NoTTL, Message: federation.Message{Properties: []byte{0, 0}, Body: make([]byte, 5000)}}}, federation.CodecNone, coder)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.spool.Commit(t.Context(), spool.BatchRecord{Batch: b}); err != nil {
			t.Fatal(err)
		}

		if got := s.router.OutLanes()[0]; got.FirstStored != 2 || got.StoredBytes >= 5000 {
			t.Errorf("first stored %d of %d bytes, want 2, and the other generation's 5,000 not counted", got.FirstStored, got.StoredBytes)
		}
	})
}

func TestAResealNamesWhatWasAssignedBehindTheLastBatchThatIsLeft(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		key := federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: orders, Generation: s.router.out[orders].generation()}
		high := federation.LaneHigh{LastAssigned: 3} // a segment was lost, and a later one has its marks
		if err := s.spool.Commit(t.Context(), spool.MarkRecord{Key: key, Value: high.Encode()}); err != nil {
			t.Fatal(err)
		}
		s.end()
		time.Sleep(time.Second)

		_, err := s.tryReseal(ResealRequest{Who: "test", Why: "put back"})

		if err == nil || !strings.Contains(err.Error(), "ams/orders: 2 messages (2-3)") {
			t.Errorf("%v", err)
		}
	})
}
