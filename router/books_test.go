package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// balanced fails the test unless every line of the books balances, and there are so many.
func (s *story) balanced(lines int) {
	s.t.Helper()
	books, err := s.router.Books(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if len(books.Lines) != lines {
		s.t.Errorf("%d lines, want %d: %+v", len(books.Lines), lines, books.Lines)
	}
	for _, line := range books.Lines {
		if !line.Balanced {
			s.t.Errorf("%s %s → %s: %s", line.Side, line.Lane, line.Destination, line.Problem)
		}
	}
}

func TestBooksBalanceWithVoidsOnBothSides(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.begun(7)
		s.publish("a")
		s.publish("b")
		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 2, Last: 2, Reason: "poison", Who: "test"}); err != nil {
			t.Fatal(err)
		}
		s.router.Control(l, federation.Sync{Lane: events, Generation: 7, Destination: atAms, Join: 1, Voids: []federation.Void{{Span: federation.Span{First: 2, Last: 3}}}})
		s.router.Copy(l, s.copyOf(7, 1, "a", "b"), (&verdicts{}).answer)
		time.Sleep(time.Second)
		synctest.Wait()
		s.balanced(2)

		gen := s.router.out[orders].generation()
		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), Join: 1, Done: 2,
			Counters: federation.Counters{Delivered: 1, Voided: 1}})
		time.Sleep(time.Second)
		synctest.Wait()

		s.balanced(2)
		if got := s.router.OutLanes()[0]; got.StoredBytes != 0 || got.StoredMessages != 0 {
			t.Errorf("lane %+v", got)
		}
		if got := s.router.InLanes()[0]; got.Done != 3 || got.Counters.Voided != 2 {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestAReceiptThatContradictsTheLaneIsNotTakenAndStaysInSight(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		gen := s.router.out[orders].generation()

		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), Join: 1, Done: 1})
		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), Join: 1, Done: 9,
			Counters: federation.Counters{Delivered: 9}})
		time.Sleep(time.Second)
		synctest.Wait()

		got := s.router.OutLanes()[0]
		if got.StoredMessages != 1 || got.StoredBytes == 0 {
			t.Errorf("lane %+v", got)
		}
		if d := got.Destinations[0]; d.State != "held" || d.Fix == "" {
			t.Errorf("destination %+v", d)
		}
	})
}

func TestBooksBalanceWithAVoidOfWhatIsNotStored(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		for _, body := range []string{"a", "b", "c", "d"} {
			s.publish(body)
		}
		s.spool.Forget(orders, s.router.out[orders].generation(), 2) // as if a corrupt stretch had been given up
		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 1, Last: 3, Reason: "corrupt", Who: "test"}); err != nil {
			t.Fatal(err)
		}

		s.balanced(1)
		books, err := s.router.Books(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := books.Lines[0]; got.LastAssigned != 4 || got.Stored != 2 || got.StoredVoided != 2 {
			t.Errorf("%+v", got)
		}
	})
}

func TestALineOfAnotherSitesLaneNeverBalances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &story{t: t, disk: memstore.New(memstore.Options{Home: spool.Home{Site: "nyc", Federation: "acme"}})}
		s.start()
		defer s.end()
		s.publish("a") // as ams, onto the store of nyc

		books, err := s.router.Books(t.Context())

		if err != nil || len(books.Lines) != 1 {
			t.Fatalf("%+v, %v", books, err)
		}
		if got := books.Lines[0]; got.Stored != 1 || !got.Misplaced || got.Balanced || !strings.Contains(got.Problem, "another site") {
			t.Errorf("%+v", got)
		}
		if books.Site != "nyc" || books.Federation != "acme" {
			t.Errorf("books of %s of %s", books.Site, books.Federation)
		}
	})
}
