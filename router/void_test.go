package router

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

func TestADestinationHearsOfAVoidWithoutAsking(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		gen := s.router.out[orders].generation()
		s.router.Control(l, federation.SyncReq{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), ToOrigin: true})
		s.publish("a")
		s.publish("b")
		time.Sleep(time.Second)

		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 1, Last: 1, Reason: federation.VoidDetach, Who: "test"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()

		told := framesOf[federation.Sync](l)
		if last := told[len(told)-1]; len(last.Voids) != 1 || last.Voids[0].Span != (federation.Span{First: 1, Last: 1}) {
			t.Errorf("told: %+v", told)
		}
	})
}

func TestAHeldCopyThatIsVoidedIsPassedAndAnswered(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.broker.missing = true
		v := &verdicts{}
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), v.answer)
		synctest.Wait()

		s.router.Control(l, federation.Sync{Lane: events, Generation: 7, Destination: atAms, Join: 1, Voids: []federation.Void{{Span: federation.Span{First: 1, Last: 2}}}})
		time.Sleep(time.Second)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Verdict{federation.OK}, v.all()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if got := s.router.InLanes()[0]; got.Done != 2 || got.Counters.Voided != 2 || got.WindowBytes != 0 {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestTheLastVoidOfALaneIsRefusedWithWords(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		q := admin.VoidRequest{Lane: "ams/orders", First: 1, Last: 1, Reason: federation.VoidDetach, Who: "test"}
		for range federation.MaxVoids {
			if _, err := s.router.Void(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}

		_, err := s.router.Void(t.Context(), q)

		var refused *admin.Error
		if !errors.As(err, &refused) || refused.Code != admin.Refused {
			t.Errorf("one void more: %v", err)
		}
	})
}

func TestACorruptBatchIsAbandonedWhenItIsVoided(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		for _, text := range []string{"first", "second, which will be spoiled", "third"} {
			s.publish(large(text))
		}
		s.restarted()
		s.start()
		s.spoil("second, which will be spoiled") // beneath the running router: it finds it when it sends
		s.opened()
		time.Sleep(time.Second)
		corrupt := s.spool.Corrupt()
		if len(corrupt) != 1 || corrupt[0].Batch.First != 2 || s.router.Abandoned(corrupt[0].Batch) {
			t.Fatalf("corrupt: %v", corrupt)
		}

		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 2, Last: 2, Reason: federation.VoidCorrupt, Who: "test"}); err != nil {
			t.Fatal(err)
		}

		if !s.router.Abandoned(corrupt[0].Batch) {
			t.Error("it was voided for every destination")
		}
		if s.router.MissingVoided() {
			t.Error("nothing is missing, and it is said to be voided")
		}
	})
}
