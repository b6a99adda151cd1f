package chaos

import (
	"strings"
	"testing"
	"time"

	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
)

func consumed(index uint64, sent time.Time) load.Received {
	return load.Received{Appearance: check.Appearance{Lane: lanes[0].name(), Index: index, Intact: true}, Sent: sent, At: sent.Add(time.Millisecond)}
}

func TestInFlightIsWhatIsConfirmedAndNotConsumed(t *testing.T) {
	w := &watch{lane: lanes[0]}
	published := []check.Published{{Outcome: check.Confirmed}, {Outcome: check.Confirmed}, {}, {Outcome: check.Returned}, {Outcome: check.Confirmed}}
	for _, index := range []uint64{1, 1, 3} { // a repeat and one of unknown outcome hide nothing that is missing
		w.take(consumed(index, time.Now()))
	}

	if got := w.missing(published); got != 2 {
		t.Errorf("in flight %d, want 2: indexes 2 and 5", got)
	}
}

func TestAStrikeIsOverWhenAMessagePublishedAfterItIsConsumed(t *testing.T) {
	w, at := &watch{lane: lanes[0]}, time.Now()
	made := w.strike(at)

	w.take(consumed(1, at.Add(-time.Second)))
	if len(made.healed) != 0 {
		t.Fatal("a message from before the strike ended it")
	}
	w.take(consumed(2, at.Add(time.Second)))
	w.take(consumed(3, at.Add(2*time.Second)))

	if got, want := <-made.healed, at.Add(time.Second+time.Millisecond); !got.Equal(want) {
		t.Errorf("over at %v, want %v", got, want)
	}
}

func TestATollHasALineForEveryKindThatStruck(t *testing.T) {
	toll := Toll{
		{Strike{Kind: KillEtcd, Down: time.Second}, 120, 30 * time.Millisecond},
		{Strike{Kind: KillEtcd, Down: 3 * time.Second}, 900, 50 * time.Millisecond},
		{Strike{Kind: KillEtcd, Down: 2 * time.Second}, 300, 40 * time.Millisecond},
		{Strike{Kind: PauseNYC, Down: 4 * time.Second}, 200, 5 * time.Second},
	}

	lines := strings.Split(strings.TrimSpace(toll.String()), "\n")

	if len(lines) != 4 || lines[0] != "3 kills, 1 pauses" {
		t.Fatalf("%d lines, want the counts, the head and two kinds:\n%s", len(lines), toll)
	}
	if got, want := strings.Join(strings.Fields(lines[2]), " "), "kill etcd 3 120 300 900 2s 3s 30ms 40ms 50ms"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
