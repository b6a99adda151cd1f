package localbroker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
)

// earlier are sources that the own queue had in another process.
func earlier() []federation.Source {
	return []federation.Source{{Queue: "cq.out.orders", Exchange: "orders", Keys: []string{"us.#", "eu.#"}},
		{Queue: "cq.out.orders", Exchange: "gone", Keys: []string{"#"}}, {Queue: "another", Exchange: "orders", Keys: []string{"asia.#"}}}
}

func (w *world) bind(queue, key string) {
	w.t.Helper()
	must(w.t, w.service().QueueBind(queue, key, "orders", false, nil))
}

func TestWhatAnEarlierProcessBoundIsUnboundOnceTheSourceIsBound(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		first := w.consuming()
		w.bind("cq.out.orders", "us.#")
		w.bind("cq.out.orders", "asia.#")
		must(t, first.Close(w.ctx))

		c := w.ours.Consumer(own(), earlier()...)
		synctest.Wait()

		w.state(c, "running")
		if w.routed("us.ny") {
			t.Error("us.# is still bound")
		}
		if !w.routed("eu.nl") || !w.routed("asia.jp") {
			t.Error("what is wanted, or nobody's business, is not bound any more")
		}
	})
}

func TestWhatIsToldLaterOfAnEarlierProcessIsUnboundToo(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.bind("cq.out.orders", "us.#")
		w.bind("cq.out.orders", "asia.#")

		c.SetSource(own(), earlier()...)
		synctest.Wait()

		w.state(c, "running")
		if w.routed("us.ny") {
			t.Error("us.# is still bound")
		}
		if !w.routed("eu.nl") || !w.routed("asia.jp") {
			t.Error("what is wanted, or nobody's business, is not bound any more")
		}
	})
}

func TestALeftoverIsUnboundFromWhatEarlierProcessesBoundToo(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		first := w.consuming()
		w.bind("cq.out.orders", "us.#")
		must(t, first.Close(w.ctx))

		c := w.ours.Leftover(own(), earlier()...)
		must(t, c.Detach(w.ctx))

		if w.routed("eu.nl") || w.routed("us.ny") {
			t.Error("still bound")
		}
	})
}

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
