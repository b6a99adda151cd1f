package faults

import "testing"

func TestARouterKilledWithAHundredMessagesInFlightLosesNothing(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			w := newWorld(t)
			w.publish(0)

			for range 5 {
				before := w.arrived()
				w.eventually("it delivers, with a hundred messages in flight", func() bool { return w.arrived() > before && w.inFlight() >= 100 })
				w.sites.Site(site).Kill()
				if err := w.sites.Site(site).Start(w.ctx); err != nil {
					t.Fatal(err)
				}
			}
			w.balance()
		})
	}
}
