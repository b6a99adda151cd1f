package federation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStoreWentOnFromWhatItsOpeningsHold(t *testing.T) {
	var m OpeningsMark
	m.Add(Opening{3, 100})
	m.Add(Opening{5, 200})
	for _, c := range []struct {
		name  string
		epoch Epoch
		last  LSN
		want  bool
	}{
		{"an opening as it ended", 5, 200, true},
		{"an opening as it was before its end", 3, 40, true},
		{"more than the opening held when the next began", 3, 101, false},
		{"an opening that it never heard of", 4, 1, false},
		{"an older one than its first", 1, 1, false},
	} {
		if got := WentOnFrom(m.Openings, c.epoch, c.last); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestAStoreRemembersItsLatestOpeningsOnce(t *testing.T) {
	var m OpeningsMark
	for e := Epoch(1); e <= MaxOpenings+10; e++ {
		m.Add(Opening{e, LSN(e)})
		m.Add(Opening{e, LSN(e) + 5}) // the same segments, found again
	}
	if len(m.Openings) != MaxOpenings || m.Openings[0] != (Opening{11, 11}) {
		t.Errorf("%d openings from %+v, want %d from epoch 11", len(m.Openings), m.Openings[0], MaxOpenings)
	}
	if !WentOnFrom(m.Openings, 10, 1<<60) {
		t.Error("an opening older than all that a store remembers is believed")
	}
}

func TestWhatTheLogLostNoOpeningHolds(t *testing.T) {
	m := OpeningsMark{Openings: []Opening{{3, 100}, {5, 200}}}
	m.Add(Opening{7, 150}) // an admin abandoned the end of the log
	if diff := cmp.Diff([]Opening{{3, 100}, {5, 150}, {7, 150}}, m.Openings); diff != "" {
		t.Errorf("openings (-want +got):\n%s", diff)
	}
}
