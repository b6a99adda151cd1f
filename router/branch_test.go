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

// word is nyc's answer to LANE_OPEN of lane orders: next is what it wants, seal the epoch in which the batch before that was sealed.
func (s *story) word(l *fakeLink, next federation.Offset, seal federation.Epoch) {
	s.router.Control(l, federation.LaneState{Lane: orders, KnownGeneration: s.router.out[orders].generation(),
		Destinations: []federation.DestState{{Destination: atNyc, NextWanted: next, Seal: seal, Window: 4 << 20}}})
	synctest.Wait()
}

// receipt is nyc's receipt of all offsets of lane orders up to done.
func (s *story) receipt(l *fakeLink, done federation.Offset, seal federation.Epoch) {
	s.router.Control(l, federation.Receipt{Lane: orders, Generation: s.router.out[orders].generation(), Destination: atNyc, Store: l.store, Born: time.UnixMilli(1),
		Join: 1, Done: done, Seal: seal, Counters: federation.Counters{Delivered: uint64(done)}})
	time.Sleep(receiptPause)
	synctest.Wait()
}

func TestWhatIsDoneOfAnotherBranchHoldsTheLaneForGoodAndForgetsNothing(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a", "b")
		own := s.router.identity.Epoch
		l := s.link()

		s.word(l, 3, own-1) // nyc has done two offsets of a store that was replaced by an older copy since
		s.receipt(l, 2, own-1)
		s.publish("c", "d") // the lane goes past what nyc has done
		for range 10 {
			time.Sleep(refusedAgain)
			synctest.Wait()
			s.word(l, 3, own-1)
			s.receipt(l, 2, own-1)
		}

		lane := s.router.OutLanes()[0]
		got := lane.Destinations[0]
		if got.State != federation.StateHeld || !strings.Contains(got.Reason, "another message") || !strings.Contains(got.Fix, resealCommand) {
			t.Errorf("lane %+v", got.Condition)
		}
		if got.Receipted != 0 || lane.StoredMessages != 4 || len(l.sent()) != 0 {
			t.Errorf("%d messages are stored, receipted to %d, sent %v", lane.StoredMessages, got.Receipted, l.sent())
		}
	})
}

func TestWhatAnEarlierProcessSealedIsReadToBeComparedWithWhatIsDone(t *testing.T) {
	for _, c := range []struct {
		name  string
		other federation.Epoch // less than the epoch in which the lane's own batches were sealed
		want  federation.State
		sent  []federation.Offset
	}{
		{"the same branch goes on", 0, federation.StateRunning, []federation.Offset{3}},
		{"another branch is held", 1, federation.StateHeld, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				s.publish("a")
				s.publish("b")
				sealed := s.router.identity.Epoch - c.other
				s.end()
				s.start()
				s.publish("c")

				l := s.link()
				s.word(l, 3, sealed) // unproven: the lane is announced again when its own batch was read
				if got := len(framesOf[federation.LaneOpen](l)); got != 2 {
					t.Fatalf("announced %d times, want 2", got)
				}
				s.word(l, 3, sealed)

				got := s.router.OutLanes()[0].Destinations[0]
				if diff := cmp.Diff(c.sent, l.sent()); diff != "" || got.State != c.want {
					t.Errorf("lane %+v, first offsets of the copies (-want +got):\n%s", got.Condition, diff)
				}
			})
		})
	}
}

func TestADestinationThatWentBackHoldsItsLaneAndIsToBeResealed(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := s.opened()
		s.publish("a")
		s.publish("b")
		s.receipt(l, 2, s.router.identity.Epoch)
		s.router.Down(l, nil)

		l = s.link()
		s.word(l, 2, s.router.identity.Epoch)
		s.publish("c")

		got := s.router.OutLanes()[0].Destinations[0]
		if got.State != federation.StateHeld || got.Reason != "nyc has done 1, and has receipted 2" || !strings.Contains(got.Fix, "store of nyc") || !strings.Contains(got.Fix, resealCommand) {
			t.Errorf("lane %+v", got.Condition)
		}
		if len(l.sent()) != 0 {
			t.Errorf("sent %v", l.sent())
		}
		s.word(l, 3, s.router.identity.Epoch) // the word was an old one
		if diff := cmp.Diff([]federation.Offset{3}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

// eventsOpen is nyc's LANE_OPEN of lane events.
func eventsOpen(first, last federation.Offset) federation.LaneOpen {
	return federation.LaneOpen{Lane: events, FirstRetained: first, LastAssigned: last,
		Mark: federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}}
}

func TestWhatAnEarlierProcessOfTheOriginSentIsFinishedBeforeTheNextOneIsAnswered(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		old, v := s.begun(7), &verdicts{}
		confirm := s.broker.setSilent()
		s.router.Copy(old, s.branch(2, 1, "a"), v.answer) // published, and not confirmed
		s.router.Copy(old, s.branch(2, 3, "c"), v.answer) // held
		synctest.Wait()

		next := &fakeLink{peer: "nyc", store: old.store, boot: federation.BootID{9}}
		s.router.Up(next)
		s.router.Control(next, eventsOpen(1, 5))
		s.router.Copy(old, s.branch(2, 2, "b"), v.answer) // of the earlier process, too late
		time.Sleep(time.Second)
		synctest.Wait()
		if got := framesOf[federation.LaneState](next); len(got) != 0 {
			t.Errorf("answered before what is unfinished has ended: %+v", got)
		}

		confirm()
		time.Sleep(time.Second)
		synctest.Wait()

		answers := framesOf[federation.LaneState](next)
		if len(answers) != 1 || answers[0].Destinations[0].NextWanted != 2 || answers[0].Destinations[0].Seal != 2 {
			t.Errorf("answers %+v, want one that wants offset 2 after one sealed in epoch 2", answers)
		}
		if diff := cmp.Diff([]string{"a"}, s.broker.bodies()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]federation.Verdict{federation.WindowShut, federation.OK, federation.WindowShut}, v.all()); diff != "" {
			t.Errorf("answers to the copies (-want +got):\n%s", diff)
		}
	})
}

func TestWhatAnEarlierProcessOfTheOriginGaveUpCountsOnlyWhenTheNextOneSaysItToo(t *testing.T) {
	gaveUp := federation.Sync{Lane: events, Generation: 7, Destination: atAms, Join: 1, Voids: []federation.Void{{Span: federation.Span{First: 2, Last: 2}}}}
	for _, c := range []struct {
		name string
		told func(s *story, old, next *fakeLink)
	}{
		{"told before the next one came", func(s *story, old, next *fakeLink) {
			s.router.Control(old, gaveUp)
			synctest.Wait()
			s.router.Control(next, eventsOpen(1, 3))
		}},
		{"read after the next one came", func(s *story, old, next *fakeLink) {
			s.router.Control(next, eventsOpen(1, 3))
			s.router.Control(old, gaveUp)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				old := s.begun(7)
				next := &fakeLink{peer: "nyc", store: old.store, boot: federation.BootID{9}}
				s.router.Up(next)
				c.told(s, old, next)
				synctest.Wait()

				for i, body := range []string{"a", "b", "c"} {
					s.router.Copy(next, s.branch(2, federation.Offset(i+1), body), func(federation.Verdict, time.Duration) {})
				}
				time.Sleep(time.Second)
				synctest.Wait()

				if diff := cmp.Diff([]string{"a", "b", "c"}, s.broker.bodies()); diff != "" {
					t.Errorf("published (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestADestinationThatPassedWhatThisLaneNeverGaveUpIsOfAnotherBranch(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		s.publish("b")
		l := s.link()
		s.receipt(l, 1, 0)
		s.word(l, 2, 0) // a lost branch gave offset 1 up
		if got := s.router.OutLanes()[0].Destinations[0]; got.State != federation.StateHeld || got.Receipted != 0 || len(l.sent()) != 0 {
			t.Errorf("lane %+v, receipted to %d, sent %v", got.Condition, got.Receipted, l.sent())
		}

		if _, err := s.router.Void(t.Context(), admin.VoidRequest{Lane: "ams/orders", First: 1, Last: 1, Reason: federation.VoidDetach, Who: "test"}); err != nil {
			t.Fatal(err)
		}
		s.word(l, 2, 0)
		if diff := cmp.Diff([]federation.Offset{2}, l.sent()); diff != "" {
			t.Errorf("first offsets of the copies (-want +got):\n%s", diff)
		}
	})
}

func TestAJournalThatIsNotDurableYetIsNoWordOnWhereToGoOn(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		l := newInLane(s.router, inKey{events, atAms})
		l.gen, l.journal = 7, federation.NewJournalState(10)
		l.journal.Adopt(federation.Sync{Join: 1, FirstStore: true, LastAssigned: 9})

		if got := l.laneStateLocked(); got.KnownGeneration != 0 || got.Destinations[0].NextWanted != 0 {
			t.Errorf("not durable: %+v", got)
		}
		l.journal.Committed(l.journal.Mark())
		if got := l.laneStateLocked(); got.KnownGeneration != 7 || got.Destinations[0].NextWanted != 1 {
			t.Errorf("durable: %+v", got)
		}
	})
}

func TestAnOriginThatContradictsTheJournalIsShownHeldWithWhatToType(t *testing.T) {
	for _, c := range []struct {
		name   string
		open   federation.LaneOpen
		reason string
		fix    string
	}{
		{"it has assigned less than is done here", eventsOpen(1, 1), "2 offsets are done here, more than nyc had assigned", originResealFix},
		{"it has forgotten what is not done here", eventsOpen(5, 9), "2 offsets are done here, and this site has receipted 4", resealFix},
		{"it agrees", eventsOpen(3, 9), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inStory(t, func(t *testing.T, s *story) {
				l := s.begun(7)
				s.router.Copy(l, s.branch(2, 1, "a", "b"), func(federation.Verdict, time.Duration) {})
				time.Sleep(time.Second)
				s.router.Control(l, c.open)
				synctest.Wait()

				s.router.Control(l, eventsOpen(3, 20)) // the origin numbers on: that is no mend
				synctest.Wait()

				if got := s.router.InLanes()[0]; got.Reason != c.reason || got.Fix != c.fix {
					t.Errorf("lane %+v", got.Condition)
				}
				s.router.Copy(l, s.branch(2, 3, "c"), func(federation.Verdict, time.Duration) {})
				time.Sleep(time.Second)
				if got := s.router.InLanes()[0]; got.State != federation.StateRunning {
					t.Errorf("after it went on: lane %+v", got.Condition)
				}
			})
		})
	}
}
