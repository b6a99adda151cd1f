package admin

import (
	"testing"
	"time"
)

func TestAPartThatOnlyJustStartsOrWaitsNeedsNoAttention(t *testing.T) {
	for _, c := range []struct {
		name   string
		part   Condition
		before time.Duration // since when it is so
		want   int
	}{
		{"it starts", Condition{State: Starting, Reason: "the lane is announced"}, 59 * time.Second, 0},
		{"it starts for long", Condition{State: Starting, Reason: "the lane is announced"}, time.Minute, 1},
		{"it starts and says where to look", Condition{State: Starting, Reason: "no answer", Fix: "see there"}, 59 * time.Second, 0},
		{"it waits for another part", Condition{State: Waiting, Reason: "no link"}, 59 * time.Second, 0},
		{"it waits for another part for long", Condition{State: Waiting, Reason: "no link"}, time.Minute, 1},
		{"it waits for a person", Condition{State: Waiting, Reason: "another consumer", Fix: "end it"}, 0, 1},
		{"something is wrong", Condition{State: Held, Reason: "no exchange"}, 0, 1},
		{"it runs", Condition{State: Running}, time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
			well := Condition{State: Running}
			c.part.Since = at.Add(-c.before)
			status := Status{At: at, Router: Router{Condition: well}, Store: Store{Condition: well}, Broker: Broker{Condition: well}, Topology: Topology{Condition: well},
				Listener: Listener{Condition: well}, Parking: Parking{Condition: well}, In: []InLane{{Condition: c.part, Lane: "nyc/b", Destination: "ams"}}}
			if got := status.Problems(); len(got) != c.want {
				t.Errorf("got %+v, want %d", got, c.want)
			}
		})
	}
}
