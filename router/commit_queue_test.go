package router

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

// itemOf is an item with a body of so many bytes.
func itemOf(n federation.Offset, bytes int) *item {
	return &item{at: n, entry: &federation.Entry{Message: federation.Message{Body: make([]byte, bytes)}}}
}

func TestWhatIsParkedIsCommittedInOrderAndInPieces(t *testing.T) {
	q, now := &commitQueue{}, time.Unix(0, 0)
	for n, bytes := range []int{6 << 20, 6 << 20, 6 << 20, 20 << 20, 1} {
		q.park(itemOf(federation.Offset(n+1), bytes))
	}

	var pieces [][]federation.Offset
	for !q.idle() {
		parks := q.nextParks(now)
		q.begin(&journalCommit{parks: parks})
		if again := q.nextParks(now); again != nil {
			t.Fatalf("%d more are to be parked while a commit is on its way", len(again))
		}
		q.end()
		var piece []federation.Offset
		for _, it := range parks {
			piece = append(piece, it.at)
		}
		pieces = append(pieces, piece)
	}

	if diff := cmp.Diff([][]federation.Offset{{1, 2}, {3}, {4}, {5}}, pieces); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

func TestRefusedParksAreTriedLaterAndHoldNoJournalUp(t *testing.T) {
	q, now := &commitQueue{}, time.Unix(0, 0)
	q.park(itemOf(1, 1))
	q.changed(now)

	q.parksRefused(now)

	if parks := q.nextParks(now.Add(maxPause - 1)); parks != nil {
		t.Error("tried again before its time")
	}
	if !q.journalDue(now.Add(journalPause)) {
		t.Error("the journal waits, too")
	}
	if parks := q.nextParks(now.Add(maxPause)); len(parks) != 1 {
		t.Errorf("%d are tried again, want 1", len(parks))
	}
}

func TestAJournalGathersFromItsFirstChange(t *testing.T) {
	q, now := &commitQueue{}, time.Unix(0, 0)
	if q.journalDue(now.Add(time.Hour)) || q.wait(now) != time.Second {
		t.Error("due without a change")
	}

	q.changed(now)
	q.changed(now.Add(journalPause / 2)) // changes nothing

	if q.journalDue(now.Add(journalPause-1)) || !q.journalDue(now.Add(journalPause)) || q.wait(now) != journalPause {
		t.Errorf("due after %s, want %s", q.wait(now), journalPause)
	}
	q.begin(&journalCommit{})
	if q.journalDue(now.Add(time.Hour)) || q.wait(now) != time.Second {
		t.Error("due again without another change")
	}
	q.changed(now)
	if q.wait(now) != time.Second {
		t.Error("looked at again before the commit on its way is over")
	}
	q.end()
	if q.wait(now) != journalPause {
		t.Errorf("due after %s, want %s", q.wait(now), journalPause)
	}
}

func TestACommitOfParksLeavesTheJournalDue(t *testing.T) {
	q, now := &commitQueue{}, time.Unix(0, 0)
	q.changed(now)
	q.park(itemOf(1, 1))

	q.begin(&journalCommit{parks: q.nextParks(now)})
	q.end()

	if !q.journalDue(now.Add(journalPause)) {
		t.Error("what was to be committed is forgotten")
	}
}
