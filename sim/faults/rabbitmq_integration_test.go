//go:build integration

package faults

import (
	"testing"
	"time"

	"cloudqueue/router/admin"
)

func TestARabbitMQKilledWithAHundredMessagesInFlightCausesFlaggedRepeatsAlone(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			w := newStory(t, site)
			w.Publish(3000)

			for range 2 {
				w.crowd()
				w.Nodes[site].Kill()
				if err := w.Nodes[site].Start(w.Ctx); err != nil {
					t.Fatal(err)
				}
			}
			w.Balance()
		})
	}
}

// stillInSockets is how much a node under an alarm may still take: a publish window, what was on its way.
const stillInSockets = 2048

func TestAnAlarmOfAMinuteHoldsTheLaneAndLosesNothing(t *testing.T) {
	w := newStory(t, "nyc")
	w.Publish(200)
	w.Eventually("it delivers", func() bool { return w.Arrived() > 200 })
	if err := w.Nodes["nyc"].SetAlarm(w.Ctx, true); err != nil {
		t.Fatal(err)
	}
	over := time.After(time.Minute)
	held := func() bool {
		st := w.Status("nyc")
		return st.Broker.State == admin.Held && len(st.In) == 1 && st.In[0].State == admin.Held && st.In[0].Reason == st.Broker.Reason
	}
	w.Eventually("status of nyc says that its broker has an alarm, and that the lane is held by it", held)
	stood := w.Arrived()
	<-over
	if !held() {
		t.Error("after a minute of the alarm the lane is not held by it")
	}
	if got := w.Arrived() - stood; got > stillInSockets {
		t.Errorf("%d messages arrived under the alarm", got)
	}
	if err := w.Nodes["nyc"].SetAlarm(w.Ctx, false); err != nil {
		t.Fatal(err)
	}

	before := w.Arrived()
	w.Eventually("it goes on", func() bool { return w.Arrived() > before+1000 })
	w.Balance()
}
