package check_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/sim/check"
)

const lane = "ams/orders"

// published makes n confirmed publishes.
func published(n int) []check.Published {
	p := make([]check.Published, n)
	for i := range p {
		p[i].Outcome = check.Confirmed
	}
	return p
}

// queue makes the appearances of indexes with offsets of their own: 1 is a first copy, -1 a flagged one.
func queue(indexes ...int) []check.Appearance {
	var q []check.Appearance
	for i, index := range indexes {
		a := check.Appearance{Lane: lane, Index: uint64(max(index, -index)), Intact: true, Flagged: index < 0}
		a.ID = check.ID{Lane: lane, Generation: 7, Offset: uint64(i + 1)}
		q = append(q, a)
	}
	return q
}

func history(n int, appeared []check.Appearance) check.History {
	return check.History{Lane: lane, Queue: "nyc orders", Published: published(n), Appeared: appeared, Routed: true}
}

// offences are the counts that make a run fail, by name.
func offences(v check.Verdict) map[string]int {
	found := map[string]int{}
	for name, o := range map[string]check.Offences{"lost": v.Lost, "inversions": v.Inversions, "duplicates": v.Duplicates, "altered": v.Altered, "alien": v.Alien} {
		if o.Count > 0 {
			found[name] = o.Count
		}
	}
	return found
}

func TestJudgeFindsEveryOffence(t *testing.T) {
	reordered := queue(1, 2, 3)
	reordered[1].ID.Offset, reordered[2].ID.Offset = 3, 2
	oldGeneration := queue(1, 2, 3)
	oldGeneration[2].ID.Generation = 6
	altered := queue(1, 2, 3)
	altered[1].Intact = false
	otherLane := queue(1, 2, 3)
	otherLane[2].ID.Lane = "ams/audit"
	foreign := append(queue(1, 2, 3), check.Appearance{Lane: "x", Index: 1, Intact: true})
	nameless := queue(1, 2, 3)
	nameless[1].ID = check.ID{}
	oneIdentity := queue(1, 2, -3)
	oneIdentity[2].ID = oneIdentity[1].ID
	handedOut := queue(1, 2, 2, 3)
	handedOut[2].Redelivered, handedOut[2].ID = true, handedOut[1].ID
	lowOffset := queue(1, -2, 3)
	lowOffset[1].ID.Offset = 9

	tests := []struct {
		name     string
		appeared []check.Appearance
		want     map[string]int
	}{
		{"clean", queue(1, 2, 3), map[string]int{}},
		{"the last one missing", queue(1, 2), map[string]int{"lost": 1}},
		{"one in the middle missing", queue(1, 3), map[string]int{"lost": 1}},
		{"two the wrong way round", queue(1, 3, 2), map[string]int{"inversions": 1}},
		{"offsets the wrong way round", reordered, map[string]int{"inversions": 1}},
		{"an older generation after a newer one", oldGeneration, map[string]int{"inversions": 1}},
		{"a second copy, unflagged", queue(1, 2, 2, 3), map[string]int{"duplicates": 1}},
		{"a second copy, unflagged, after a flagged one", queue(1, -2, 2, 3), map[string]int{"duplicates": 1}},
		{"a second copy, flagged", queue(1, 2, -2, 3), map[string]int{}},
		{"a late copy, flagged", queue(1, 3, -2), map[string]int{}},
		{"another body", altered, map[string]int{"altered": 1}},
		{"a message that nobody published", queue(1, 2, 3, 4), map[string]int{"alien": 1}},
		{"a message of another lane", foreign, map[string]int{"alien": 1}},
		{"an identity of another lane", otherLane, map[string]int{"alien": 1, "lost": 1}},
		{"one without an identity", nameless, map[string]int{"altered": 1}},
		{"two messages under one identity, the second flagged", oneIdentity, map[string]int{"altered": 1}},
		{"a second copy in a queue that is read once, whatever the broker says of it", handedOut, map[string]int{"duplicates": 1}},
		{"an unflagged one behind a flagged one that was published after it", queue(1, -3, 2), map[string]int{"inversions": 1}},
		{"an unflagged offset below a flagged one", lowOffset, map[string]int{"inversions": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := check.Judge(history(3, test.appeared))
			if diff := cmp.Diff(test.want, offences(v)); diff != "" {
				t.Errorf("offences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeExpectsNothingOfAnUnknownPublish(t *testing.T) {
	h := history(3, queue(1, 3))
	h.Published[1].Outcome = check.Unknown
	h.Published[2].RetryOf = 2

	v := check.Judge(h)

	if len(offences(v)) != 0 || v.Confirmed != 2 || v.Distinct != 2 {
		t.Errorf("got %+v, want 2 confirmed, 2 distinct, no offence", v)
	}
}

func TestJudgeRefusesWhatTheBrokerReturned(t *testing.T) {
	h := history(2, queue(1, 2))
	h.Published[1].Outcome = check.Returned

	v := check.Judge(h)

	if v.Alien.Count != 1 {
		t.Errorf("alien = %d, want 1: a returned message cannot stand in a queue", v.Alien.Count)
	}
}

func TestJudgeTakesTheScenariosWordForWhatIsParked(t *testing.T) {
	h := history(3, queue(1, 3))
	h.Accounted = map[uint64]string{2: "parked: unroutable"}

	v := check.Judge(h)

	if v.Lost.Count != 0 || v.Accounted != 1 {
		t.Errorf("lost %d, accounted %d; want 0, 1", v.Lost.Count, v.Accounted)
	}
}

func TestJudgeRefusesWhatIsBothParkedAndDelivered(t *testing.T) {
	h := history(3, queue(1, 2, 3))
	h.Accounted = map[uint64]string{2: "parked: unroutable"}

	v := check.Judge(h)

	if v.Alien.Count != 1 || v.Accounted != 0 {
		t.Errorf("alien %d, accounted %d; want 1, 0", v.Alien.Count, v.Accounted)
	}
}

func TestJudgeCallsAFlaggedOneLateBehindAFlaggedOneToo(t *testing.T) {
	v := check.Judge(history(3, queue(1, -3, -2)))

	if v.Late.Count != 1 || v.FalseFlags.Count != 2 {
		t.Errorf("late %d, false flags %d; want 1, 2", v.Late.Count, v.FalseFlags.Count)
	}
}

func TestJudgeCountsFalseFlagsAndLateOnes(t *testing.T) {
	v := check.Judge(history(4, queue(1, -2, 4, -3, -3)))

	if v.Flagged != 3 || v.FalseFlags.Count != 2 || v.Late.Count != 1 || v.Delivered != 5 || v.Distinct != 4 {
		t.Errorf("flagged %d, false %d, late %d, delivered %d, distinct %d; want 3, 2, 1, 5, 4", v.Flagged, v.FalseFlags.Count, v.Late.Count, v.Delivered, v.Distinct)
	}
}

func TestJudgeCountsARedeliveryToAConsumerOnce(t *testing.T) {
	appeared := queue(1, 2, 2, 3)
	appeared[2].Redelivered, appeared[2].ID = true, appeared[1].ID

	h := history(3, appeared)
	h.Consumed = true
	v := check.Judge(h)

	if v.Delivered != 3 || len(offences(v)) != 0 {
		t.Errorf("delivered %d, offences %v; want 3 and none: it is the same message of the queue", v.Delivered, offences(v))
	}
}

func TestReportFailsOnFalseFlagsOnlyWithoutFaults(t *testing.T) {
	verdicts := []check.Verdict{check.Judge(history(2, queue(1, -2)))}

	faulty, faultless := check.Report{Verdicts: verdicts}, check.Report{Verdicts: verdicts, Faultless: true}

	if !faulty.OK() || faultless.OK() {
		t.Errorf("OK with faults: %v, without: %v; want true, false", faulty.OK(), faultless.OK())
	}
}

func TestReportNamesTheLostMessage(t *testing.T) {
	r := check.Report{Verdicts: []check.Verdict{check.Judge(history(30, queue(1, 2, 3)))}}

	text := r.String()

	if !strings.Contains(text, "ams/orders at nyc orders: 27 lost: index 4, index 5,") || !strings.Contains(text, "…") {
		t.Errorf("the report does not name what is lost:\n%s", text)
	}
}

func TestReportOfNothingIsNotOK(t *testing.T) {
	if (check.Report{}).OK() || (check.Report{Verdicts: []check.Verdict{check.Judge(history(0, nil))}}).OK() {
		t.Error("a run without messages passed")
	}
}

func TestParseIDReadsWhatStringGives(t *testing.T) {
	want := check.ID{Lane: "ams/orders#3~1", Generation: 1764532800000, Offset: 42}

	got, err := check.ParseID(want.String())

	if err != nil || got != want {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestParseIDRefusesOthers(t *testing.T) {
	for _, s := range []string{"", "ams/orders", "ams/orders@1", "ams/orders@x:1", "ams/orders@1:", "ams/orders@1:-1"} {
		if id, err := check.ParseID(s); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", s, id)
		}
	}
}
