package faults

import "testing"

func TestARouterKilledWithAHundredMessagesInFlightLosesNothing(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			w := newStory(t)
			w.Publish(3000)

			for range 5 {
				w.crowd()
				w.Sites.Site(site).Kill()
				if err := w.Sites.Site(site).Start(w.Ctx); err != nil {
					t.Fatal(err)
				}
			}
			w.Balance()
		})
	}
}
