package router

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// rejoined is a link to nyc that opened lane events and answered that an earlier store of ams had receipted three offsets, one of them parked.
func (s *story) rejoined() {
	l := s.link()
	s.router.Control(l, federation.LaneOpen{Lane: events, Mark: federation.LaneMark{Generation: 7, Shards: 1, Members: []federation.Membership{{Destination: atAms, Join: 1}}}, FirstRetained: 1, LastAssigned: 5})
	synctest.Wait()
	s.router.Control(l, federation.Sync{Lane: events, Generation: 7, Destination: atAms, Join: 1, FirstRetained: 1, LastAssigned: 5, HasReceipt: true,
		Receipt: federation.Receipt{Lane: events, Generation: 7, Destination: atAms, Join: 1, Done: 3, Counters: federation.Counters{Delivered: 2, Parked: 1}}})
	synctest.Wait()
	time.Sleep(2 * journalPause)
	synctest.Wait()
}

func TestALostStoreIsSaidForADayWithWhatItHadParked(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.rejoined()

		got := s.router.InLanes()[0].Condition
		want := "an earlier store of this site is lost: the lane goes on after offset 3, flagged up to 5; " +
			"what it had parked (1 by its last receipt) is lost, but for what was redriven or dropped"
		if got.State != federation.StateDegraded || got.Reason != want || !strings.Contains(got.Fix, "cloudqueue books") {
			t.Errorf("lane %+v", got)
		}
		time.Sleep(lossShown - time.Minute)
		if got := s.router.InLanes()[0].Condition; got.State != federation.StateDegraded {
			t.Errorf("shortly before the day is over: %+v", got)
		}
		time.Sleep(2 * time.Minute)
		if got := s.router.InLanes()[0].Condition; got.State != federation.StateRunning || got.Reason != "" {
			t.Errorf("after the day: %+v", got)
		}
	})
}

func TestAJournalThatAResealEndedIsNoLostStore(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		key := federation.MarkKey{Kind: federation.MarkJournal, Lane: events, Generation: 7, Dest: atAms}
		if err := s.spool.Commit(t.Context(), spool.MarkRecord{Key: key}); err != nil {
			t.Fatal(err)
		}

		s.rejoined()

		if got := s.router.InLanes()[0]; got.Done != 3 || got.State != federation.StateRunning {
			t.Errorf("lane done %d, %+v", got.Done, got.Condition)
		}
	})
}
