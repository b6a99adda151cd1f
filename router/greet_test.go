package router

import (
	"testing"
	"time"

	"cloudqueue/federation"
)

func TestOnlyAHelloWithNewsIsCommitted(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		hello := federation.Hello{Site: "nyc", Store: federation.StoreID{2}, Born: time.Now(), Epoch: 1, LastLSN: 5000, Boot: federation.BootID{1}}
		for _, c := range []struct {
			name    string
			change  func(*federation.Hello)
			commits federation.LSN
		}{
			{"the first one", func(*federation.Hello) {}, 1},
			{"the other connection of the link", func(h *federation.Hello) { h.LastLSN -= 3 }, 0},
			{"a link that flaps", func(h *federation.Hello) { h.LastLSN += helloWorth - 1 }, 0},
			{"a store that went on", func(h *federation.Hello) { h.LastLSN += helloWorth }, 1},
			{"a restart", func(h *federation.Hello) {
				h.Epoch, h.Boot, h.LastLSN, h.Openings = 2, federation.BootID{2}, 7000, openings(1, 6900)
			}, 1},
			{"a new store", func(h *federation.Hello) {
				h.Store, h.Born, h.LastLSN = federation.StoreID{3}, h.Born.Add(time.Hour), 1
			}, 1},
		} {
			before, h := s.spool.LastLSN(), hello
			c.change(&h)

			if got, why := s.router.Greet(t.Context(), h); got != federation.OK {
				t.Errorf("%s: %s %+v", c.name, got, why)
			}
			if got := s.spool.LastLSN() - before; got != c.commits {
				t.Errorf("%s: %d commits, want %d", c.name, got, c.commits)
			}
		}
	})
}
