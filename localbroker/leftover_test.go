package localbroker_test

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestALeftoverIsUnboundAndDrainedAndNeverBound(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		first := w.consuming()
		must(t, first.Close(w.ctx))
		w.publish("orders", "eu.nl", "1")

		c := w.ours.Leftover(own())
		if got := w.nextBody(c); got != "1" {
			t.Fatal(got)
		}
		synctest.Wait()
		w.state(c, "running")
		if w.routed("eu.nl") {
			t.Fatal("still bound")
		}
	})
}

func TestALeftoverThatIsDeletedStaysDeletedUntilItsSourceComesBack(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.declareTopic()
		first := w.ours.Consumer(own())
		synctest.Wait()
		must(t, first.Close(w.ctx))
		c := w.ours.Leftover(own())
		synctest.Wait()

		_, err := w.service().QueueDelete("cq.out.orders", false, false, false)
		must(t, err)
		time.Sleep(time.Minute)
		w.state(c, "closed")
		must(t, c.Detach(w.ctx)) // nothing is bound to what does not exist
		if _, exists := w.broker.Queue("cq.out.orders"); exists {
			t.Fatal("declared again")
		}
		c.SetSource(own())
		synctest.Wait()
		w.state(c, "running")
		w.publish("orders", "eu.nl", "after")
		if got := w.nextBody(c); got != "after" {
			t.Fatal(got)
		}
	})
}
