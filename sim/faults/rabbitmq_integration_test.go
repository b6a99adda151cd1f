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
			w := newWorld(t, site)
			w.publish(3000)

			for range 2 {
				w.crowd()
				w.nodes[site].Kill()
				if err := w.nodes[site].Start(w.ctx); err != nil {
					t.Fatal(err)
				}
			}
			w.balance()
		})
	}
}

func TestAnAlarmOfAMinuteHoldsTheLaneAndLosesNothing(t *testing.T) {
	w := newWorld(t, "nyc")
	w.publish(200)
	w.eventually("it delivers", func() bool { return w.arrived() > 200 })
	if err := w.nodes["nyc"].SetAlarm(w.ctx, true); err != nil {
		t.Fatal(err)
	}
	over := time.After(time.Minute)
	w.eventually("status of nyc says that its broker has an alarm", func() bool {
		st := w.status("nyc")
		return st.Broker.State == "alarm" || len(st.In) == 1 && st.In[0].State == admin.Held
	})
	<-over
	if err := w.nodes["nyc"].SetAlarm(w.ctx, false); err != nil {
		t.Fatal(err)
	}

	before := w.arrived()
	w.eventually("it goes on", func() bool { return w.arrived() > before+1000 })
	w.balance()
}
