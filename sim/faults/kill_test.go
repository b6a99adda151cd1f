package faults

import "testing"

func TestARouterKilledWithAHundredMessagesInFlightLosesNothing(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			w := newWorld(t)
			w.publish(3000)

			for range 5 {
				w.crowd()
				w.sites.Site(site).Kill()
				if err := w.sites.Site(site).Start(w.ctx); err != nil {
					t.Fatal(err)
				}
			}
			w.balance()
		})
	}
}
