package router

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTheAgeOfABatchIsOfTheMonotonicClock(t *testing.T) {
	const s, h = time.Second, time.Hour
	tests := []struct {
		name    string
		steps   []step
		sealed  time.Duration // what the wall clock showed, since the process began
		earlier bool          // sealed by an earlier process
		now     time.Duration // monotonic
		want    time.Duration
	}{
		{"no step", nil, 50 * s, false, 60 * s, 10 * s},
		{"the clock goes forward after the sealing", []step{{55 * s, h}}, 50 * s, false, 60 * s, 10 * s},
		{"and back again", []step{{55 * s, h}, {56 * s, 0}}, 50 * s, false, 60 * s, 10 * s},
		{"the clock goes back after the sealing", []step{{55 * s, -h}}, 50 * s, false, 60 * s, 10 * s},
		{"sealed after a step forward", []step{{40 * s, h}}, 50*s + h, false, 60 * s, 10 * s},
		{"sealed after a step back", []step{{40 * s, -h}}, 50*s - h, false, 60 * s, 10 * s},
		{"sealed at the step", []step{{50 * s, h}}, 50*s + h, false, 60 * s, 10 * s},
		{"of two moments with one time the later", []step{{55 * s, -20 * s}}, 38 * s, false, 60 * s, 2 * s},
		{"a time that was never shown", []step{{50 * s, h}}, 70 * s, false, 60 * s, 10 * s},
		{"sealed before the process began", nil, -30 * s, true, 60 * s, 90 * s},
		{"and the clock goes forward", []step{{50 * s, h}}, -30 * s, true, 60 * s, 90 * s},
		{"sealed by an earlier process when the clock was ahead", nil, h, true, 60 * s, 60 * s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newResidence(time.Now())
			for _, s := range tt.steps {
				r.note(s.at, s.shift)
			}

			if got := r.ageAt(tt.sealed, !tt.earlier, tt.now); got != tt.want {
				t.Errorf("age %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAClockThatIsSteppedAllTheTimeTakesNoMemory(t *testing.T) {
	r := newResidence(time.Now())
	for i := range 10 * maxSteps {
		r.note(time.Duration(i)*time.Second, time.Duration(i%2)*time.Hour)
	}

	if len(r.steps) > maxSteps {
		t.Errorf("%d steps", len(r.steps))
	}
	if got := r.ageAt(2000*time.Second, true, 3000*time.Second); got < 0 || got > 3000*time.Second {
		t.Errorf("age %s", got)
	}
}

func TestACopyTellsHowLongItsBatchWasHere(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		s.publish("a")
		time.Sleep(time.Hour)
		s.opened()
		s.router.residence.note(time.Hour, time.Hour) // and back at once
		s.publish("b")
		l := s.opened()
		s.end()
		ages := func(l *fakeLink) (ages []time.Duration) {
			for _, c := range l.copies {
				ages = append(ages, c.side.Age.Round(time.Minute))
			}
			return ages
		}
		if got := ages(l); len(got) != 2 || got[0] != time.Hour || got[1] != 0 {
			t.Errorf("ages %v", got)
		}

		time.Sleep(time.Hour) // no router runs
		s.start()
		time.Sleep(time.Hour)
		l = s.opened()
		synctest.Wait()
		if got := ages(l); len(got) != 2 || got[0] != 3*time.Hour || got[1] != 2*time.Hour {
			t.Errorf("ages after a restart %v", got)
		}
	})
}
