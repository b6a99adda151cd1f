package router

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

func TestACopyLostWithOneOfALinksConnectionsIsSentAgain(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")

		l.answerOf(0)(federation.LinkLost, 0) // the link itself stays
		synctest.Wait()
		time.Sleep(minPause)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Offset{1, 1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestACopyThatALinkDoesNotTakeIsNotRegardedAsSent(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		l.refuse = errors.New("draining")
		s.publish("a")

		l.mu.Lock()
		l.refuse = nil
		l.mu.Unlock()
		time.Sleep(idleCheck)
		synctest.Wait()

		if diff := cmp.Diff([]federation.Offset{1}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestABatchThatThePeerCannotTakeHoldsItsLaneVisibly(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		l.refuse = fmt.Errorf("batch of 9 bytes: %w", federation.ErrTooLarge)
		s.publish("a")

		got := s.router.OutLanes()[0].Destinations[0]
		if got.State != "held" || got.Fix == "" {
			t.Errorf("lane %+v", got)
		}
	})
}

func TestARepairIsDueLessAndLessOftenWhileNoReceiptMoves(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")

		var asked []time.Duration
		began := time.Now()
		for seen := 0; len(asked) < 4; {
			time.Sleep(time.Second)
			synctest.Wait()
			if n := len(framesOf[federation.SyncReq](l)); n > seen {
				seen = n
				asked = append(asked, time.Since(began))
				began = time.Now()
			}
		}

		want := []time.Duration{30 * time.Second, 60 * time.Second, 120 * time.Second, 240 * time.Second}
		for i := range want { // a sender looks every five seconds
			if late := asked[i] - want[i]; late < 0 || late > 2*idleCheck {
				t.Errorf("SYNC %d asked %s after the one before, want %s", i+1, asked[i], want[i])
			}
		}
	})
}

func TestARefusedLaneIsAnnouncedAgainAfterASecond(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.link()
		refused := federation.LaneState{Lane: orders, Verdict: federation.TopologyOld, Text: "no route", Destinations: []federation.DestState{{Destination: atNyc}}}
		for range 100 { // a flood of refusals is one refusal
			s.router.Control(l, refused)
		}
		synctest.Wait()

		time.Sleep(refusedAgain)
		synctest.Wait()

		if got := len(framesOf[federation.LaneOpen](l)); got != 2 {
			t.Errorf("the lane was announced %d times, want 2", got)
		}
	})
}

func TestADestinationThatIsAheadHoldsItsLaneAtOnce(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		l := s.link()
		gen := s.router.out[orders].generation()
		s.router.Control(l, federation.LaneState{Lane: orders, KnownGeneration: gen, Destinations: []federation.DestState{{Destination: atNyc, NextWanted: 9, Window: 4 << 20}}})
		s.router.Control(l, federation.Window{Lane: orders, Generation: gen, Destination: atNyc, Next: 9, Bytes: 4 << 20})
		s.publish("b")

		got := s.router.OutLanes()[0].Destinations[0]
		if got.State != "held" || !strings.Contains(got.Reason, "wants offset 9") || !strings.Contains(got.Fix, "reseal") || got.Sent != 0 || len(l.sent()) != 0 {
			t.Errorf("%+v, sent %v", got, l.sent())
		}
		time.Sleep(reopenAfter)
		synctest.Wait()
		if got := len(framesOf[federation.LaneOpen](l)); got != 2 {
			t.Errorf("the lane was announced %d times, want 2", got)
		}
	})
}

func TestAHoleInTheStoreHoldsItsLaneWithWhatToType(t *testing.T) {
	for name, tt := range map[string]struct {
		forget federation.Offset
		fix    string
	}{
		"in the middle": {1, "cloudqueue spool void ams/orders 1-1 --reason corrupt --yes"},
		"at the end":    {2, "cloudqueue spool void ams/orders 1-2 --reason corrupt --yes"},
	} {
		t.Run(name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				s.publish("a")
				s.publish("b")
				s.onlyStored(orders)
				s.spool.Forget(orders, s.router.out[orders].generation(), tt.forget) // as if a corrupt stretch had been given up
				s.opened()

				if got := s.router.OutLanes()[0].Destinations[0]; got.State != "held" || !strings.HasSuffix(got.Fix, tt.fix) {
					t.Errorf("%+v", got)
				}
				if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 1, Last: 2, Reason: "corrupt", Who: "test"}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := s.router.OutLanes()[0].Destinations[0]; got.State != "running" {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// onlyStored takes the newest batches of a lane out of memory.
func (s *story) onlyStored(lane federation.Lane) {
	l := s.router.out[lane]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail, l.tailLen = nil, 0
}

func TestWhatIsReceiptedWhileItIsReadIsNeitherSentNorMissing(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		s.publish("b")
		gen := s.router.out[orders].generation()
		next, err := s.spool.Read(t.Context(), orders, gen, 2)
		if err != nil {
			t.Fatal(err)
		}
		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), Join: 1, Done: 1, Seal: s.router.identity.Epoch,
			Counters: federation.Counters{Delivered: 1}})
		synctest.Wait()

		snd := s.router.out[orders].senders[0]
		for name, err := range map[string]error{"the next batch is found": nil, "nothing is found": spool.ErrNone} {
			if b, wait := snd.take(l, 1, next, err); b != nil || wait != 0 || snd.state.State != federation.StateRunning {
				t.Errorf("%s: wait %s, %+v", name, wait, snd.state)
			}
		}
	})
}

func TestOnlyWhatWasSentBeforeIsARepair(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		l.answerOf(0)(federation.WindowShut, 0)
		time.Sleep(time.Second)
		s.publish("b")
		gen := s.router.out[orders].generation()
		s.router.Control(l, federation.Receipt{Lane: orders, Generation: gen, Destination: atNyc, Store: l.store, Born: time.Now(), Join: 1, Done: 2, Seal: s.router.identity.Epoch,
			Counters: federation.Counters{Delivered: 2}})
		s.publish("c")

		type copied struct {
			First  federation.Offset
			Repair bool
			Try    uint16
		}
		var got []copied
		for _, c := range l.copies {
			got = append(got, copied{c.batch.Header.First, c.side.Repair, c.side.Try})
		}
		if diff := cmp.Diff([]copied{{1, false, 0}, {1, true, 1}, {2, false, 0}, {3, false, 0}}, got); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
	})
}

func TestARefusalOfTheDestinationIsLoggedOnceAndWhenItEnds(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var lines strings.Builder
		s.router.log = slog.New(slog.NewTextHandler(&lines, nil))
		l := s.opened()
		s.publish("a")
		for i := range 5 {
			l.answerOf(i)(federation.Corrupt, 0)
			time.Sleep(maxPause)
			synctest.Wait()
		}
		if got := s.router.OutLanes()[0].Destinations[0]; got.State != "held" || !strings.Contains(got.Reason, "CORRUPT") {
			t.Errorf("%+v", got)
		}
		l.answerOf(5)(federation.OK, 0)
		synctest.Wait()

		if got := strings.Count(lines.String(), "lane held"); got != 1 {
			t.Errorf("%d lines, want 1:\n%s", got, &lines)
		}
		if got := strings.Count(lines.String(), "lane resumed"); got != 1 {
			t.Errorf("%d lines of its end, want 1:\n%s", got, &lines)
		}
	})
}
