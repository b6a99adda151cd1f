package localbroker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/localbroker"
)

func TestMessageOverTheLimitIsHeldVisibly(t *testing.T) {
	inWorld(t, func(c *localbroker.Config) { c.MaxMessageSize = 1000 }, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", strings.Repeat("x", 1001))
		time.Sleep(time.Minute)
		if state := w.state(c, "held"); !strings.Contains(state.Reason, "1001 bytes") {
			t.Fatalf("%+v", state)
		}
		if got := w.bodies("cq.out.orders"); len(got) != 1 {
			t.Fatalf("%d messages", len(got))
		}
	})
}

func TestAMessageOverTheLimitIsLookedAtOnceAMinuteUntilItIsTakenOut(t *testing.T) {
	inWorld(t, func(c *localbroker.Config) { c.MaxMessageSize = 1000 }, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", strings.Repeat("x", 1001), "behind")
		time.Sleep(time.Hour)
		before, state := w.broker.Counters().Delivered, w.state(c, "held")
		time.Sleep(10 * time.Hour)
		if looks := (w.broker.Counters().Delivered - before) / 2; looks > 2000 || looks < 600 { // a mean of half a minute: 1200
			t.Errorf("%d looks in ten hours", looks)
		}
		if again := w.state(c, "held"); again != state {
			t.Errorf("%+v, then %+v", state, again)
		}

		taken, ok, err := w.service().Get("cq.out.orders", true)
		if err != nil || !ok || len(taken.Body) != 1001 {
			t.Fatalf("%v %v, %d bytes", ok, err, len(taken.Body))
		}
		if got := w.nextBody(c); got != "behind" {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Minute)
		w.state(c, "running")
	})
}

func TestWhatCameBeforeAMessageOverTheLimitGoesOn(t *testing.T) {
	inWorld(t, func(c *localbroker.Config) { c.MaxMessageSize = 1000 }, func(w *world) {
		c := w.consuming()
		must(t, c.Pause(w.ctx))
		w.publish("orders", "eu.nl", "1", "2", strings.Repeat("x", 1001), "behind")
		c.Resume()
		synctest.Wait() // all of it has arrived
		w.state(c, "running")
		w.take(c, 2)
		w.state(c, "held")
		if got := w.bodies("cq.out.orders"); len(got) != 2 || got[1] != "behind" {
			t.Errorf("%d messages", len(got))
		}
		w.nothing(c, time.Hour)
	})
}
