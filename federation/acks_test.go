package federation

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// receiving gives a collector that has received frames 1 to n.
func receiving(t *testing.T, n uint64) *AckCollector {
	t.Helper()
	c := NewAckCollector(8, 1000)
	for i := range n {
		if err := c.Receive(i + 1); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestAckTellsPrefixRangesAndExceptionsOnce(t *testing.T) {
	c := receiving(t, 10)
	for _, n := range []uint64{1, 2, 4, 6, 7} {
		c.Answer(n, OK, 0)
	}
	c.Answer(9, WindowShut, 200*time.Millisecond)

	got, _ := c.Frame()
	want := Ack{Stream: 8, Cumulative: 2, Ranges: []NumberRange{{4, 4}, {6, 7}, {9, 9}}, Exceptions: []Exception{{9, WindowShut, 200 * time.Millisecond}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first ack (-want +got):\n%s", diff)
	}
	if a, more := c.Frame(); more {
		t.Errorf("told again: %+v", a)
	}

	c.Answer(3, OK, 0)
	got, _ = c.Frame()
	if diff := cmp.Diff(Ack{Stream: 8, Cumulative: 4}, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("second ack (-want +got):\n%s", diff)
	}
}

func TestAckEndsBelowAnExceptionThatDoesNotFit(t *testing.T) {
	c := receiving(t, MaxAckItems+2)
	for n := range uint64(MaxAckItems + 2) {
		c.Answer(n+1, Full, 0)
	}
	first, _ := c.Frame()
	second, _ := c.Frame()
	if first.Cumulative != MaxAckItems || len(first.Exceptions) != MaxAckItems || len(first.Ranges) != 0 {
		t.Errorf("first ack is up to %d with %d exceptions and ranges %v, want %d of both", first.Cumulative, len(first.Exceptions), first.Ranges, MaxAckItems)
	}
	if second.Cumulative != MaxAckItems+2 || len(second.Exceptions) != 2 {
		t.Errorf("second ack is up to %d with %d exceptions, want %d with 2", second.Cumulative, len(second.Exceptions), MaxAckItems+2)
	}
}

func TestCollectorRefusesFramesOutOfTurnOrOverTheLimit(t *testing.T) {
	c := NewAckCollector(1, 2)
	for _, step := range []struct {
		number uint64
		want   error
	}{{2, ErrCorrupt}, {1, nil}, {1, ErrCorrupt}, {3, ErrCorrupt}, {2, nil}, {3, ErrCorrupt}} {
		if err := c.Receive(step.number); !errors.Is(err, step.want) {
			t.Errorf("receive %d: error %v, want %v", step.number, err, step.want)
		}
	}
}

func TestCollectorAnswersEachFrameOnce(t *testing.T) {
	c := receiving(t, 2)
	for i, want := range []bool{true, false} {
		if got := c.Answer(1, OK, 0); got != want {
			t.Errorf("answer %d of frame 1: %t, want %t", i+1, got, want)
		}
	}
	if c.Answer(3, OK, 0) || c.Answer(0, OK, 0) {
		t.Error("a frame that never came was answered")
	}
}

func TestTrackerRefusesAcksForFramesNeverSent(t *testing.T) {
	tracker := NewAckTracker(10)
	tracker.Send()
	for _, a := range []Ack{{Cumulative: 2}, {Ranges: []NumberRange{{2, 2}}}, {Exceptions: []Exception{{Number: 2, Verdict: Full}}}, {Cumulative: 1<<64 - 1}} {
		if answers, err := tracker.Take(a); !errors.Is(err, ErrCorrupt) || len(answers) > 0 {
			t.Errorf("take %+v: %v, error %v, want %v", a, answers, err, ErrCorrupt)
		}
	}
	if tracker.Outstanding() != 1 {
		t.Errorf("%d frames outstanding, want 1", tracker.Outstanding())
	}
}

func TestTrackerGivesUnansweredFramesAsLost(t *testing.T) {
	tracker := NewAckTracker(10)
	for range 4 {
		tracker.Send()
	}
	must(tracker.Take(Ack{Cumulative: 1, Ranges: []NumberRange{{3, 3}}}))
	want := []Answer{{Number: 2, Verdict: LinkLost}, {Number: 4, Verdict: LinkLost}}
	if diff := cmp.Diff(want, tracker.Lost()); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if n, ok := tracker.Send(); n != 5 || !ok {
		t.Errorf("next frame %d, %t, want 5", n, ok)
	}
}

// Frames are answered in any order and told in any number of acks, through their bytes: the sender learns each verdict once.
func TestEveryVerdictReachesTheSenderOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 600).Draw(t, "limit")
		tracker, collector := NewAckTracker(limit), NewAckCollector(3, limit)
		open, answered, learned := map[uint64]bool{}, map[uint64]Answer{}, map[uint64]Answer{}
		exchange := func(t *rapid.T) {
			for {
				a, more := collector.Frame()
				if !more {
					return
				}
				wire := must(decodeFrame(must(AppendFrame(nil, a)))).(Ack)
				answers, err := tracker.Take(wire)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range answers {
					if _, twice := learned[one.Number]; twice {
						t.Fatalf("frame %d is answered twice", one.Number)
					}
					learned[one.Number] = one
				}
			}
		}
		answer := func(n uint64, v Verdict) {
			a := Answer{Number: n, Verdict: v}
			if v != OK {
				a.Retry = time.Second
			}
			collector.Answer(n, v, a.Retry)
			answered[n] = a
			delete(open, n)
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				for range rapid.IntRange(1, 300).Draw(t, "frames") {
					n, ok := tracker.Send()
					if !ok {
						return
					}
					if err := collector.Receive(n); err != nil {
						t.Fatal(err)
					}
					open[n] = true
				}
			},
			"answer some": func(t *rapid.T) {
				chance := rapid.IntRange(1, 4).Draw(t, "chance")
				verdicts := rapid.SampledFrom([]Verdict{OK, OK, DupOK, WindowShut, Full})
				for n := uint64(1); n < collector.base+uint64(limit); n++ {
					if open[n] && int(n)%chance == 0 {
						answer(n, verdicts.Draw(t, "verdict"))
					}
				}
			},
			"ack": exchange,
		})
		for n := range open {
			answer(n, OK)
		}
		exchange(t)
		if diff := cmp.Diff(answered, learned); diff != "" {
			t.Fatalf("verdicts (-answered +learned):\n%s", diff)
		}
		if tracker.Outstanding() != 0 || len(tracker.Lost()) != 0 {
			t.Fatalf("%d frames are outstanding", tracker.Outstanding())
		}
	})
}
