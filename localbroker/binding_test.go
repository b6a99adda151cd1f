package localbroker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

func TestDeletedOwnQueueIsDeclaredAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		_, err := w.service().QueueDelete("cq.out.orders", false, false, false)
		must(t, err)
		time.Sleep(time.Second)
		w.state(c, "running")
		w.publish("orders", "eu.nl", "after")
		if got := w.nextBody(c); got != "after" {
			t.Fatal(got)
		}
	})
}

func TestMissingExchangeIsHeldVisiblyWhileTheQueueDrains(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		// given an own queue with a backlog and no exchange
		_, err := w.service().QueueDeclare("cq.out.orders", true, false, false, false, nil)
		must(t, err)
		w.publish("", "cq.out.orders", "backlog")
		c := w.ours.Consumer(own())
		// then the backlog comes, and the state says what is wrong and what to do
		if got := w.nextBody(c); got != "backlog" {
			t.Fatal(got)
		}
		synctest.Wait()
		state := w.state(c, "held")
		if !strings.Contains(state.Reason, `exchange "orders" does not exist`) || !strings.Contains(state.Fix, "declare") {
			t.Fatalf("%+v", state)
		}
		// and when somebody declares it, it heals
		w.declareTopic()
		time.Sleep(6 * time.Second)
		w.state(c, "running")
		w.publish("orders", "eu.nl", "fresh")
		if got := w.nextBody(c); got != "fresh" {
			t.Fatal(got)
		}
	})
}

func TestMissingExchangeIsDeclaredWhenTheSourceSaysHow(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		source := own()
		source.Declare = "topic"
		c := w.ours.Consumer(source)
		synctest.Wait()
		w.state(c, "running")
		w.publish("orders", "eu.nl", "1")
		if got := w.nextBody(c); got != "1" {
			t.Fatal(got)
		}
	})
}

func TestRecreatedExchangeIsBoundAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		ch := w.service()
		must(t, ch.ExchangeDelete("orders", false, false))
		w.declareTopic()
		time.Sleep(31 * time.Second)
		w.publish("orders", "eu.nl", "1")
		if got := w.nextBody(c); got != "1" {
			t.Fatal(got)
		}
	})
}

// routed tells whether a mandatory message with the key finds a queue.
func (w *world) routed(key string) bool {
	w.t.Helper()
	ch := w.service()
	returns := ch.NotifyReturn(make(chan amqp.Return, 1))
	must(w.t, ch.Confirm(false))
	c, err := ch.PublishWithDeferredConfirm("orders", key, true, false, amqp.Publishing{})
	must(w.t, err)
	c.Wait()
	return len(returns) == 0
}

func TestEditedKeysAreBoundAndOldOnesUnbound(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		source := own()
		source.Keys = []string{"us.#", "eu.de"}
		c.SetSource(source)
		synctest.Wait()
		got := map[string]bool{"eu.nl": w.routed("eu.nl"), "eu.de": w.routed("eu.de"), "us.ny": w.routed("us.ny")}
		if diff := cmp.Diff(map[string]bool{"eu.nl": false, "eu.de": true, "us.ny": true}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestOldKeysStayWhileANewOneCannotBeBound(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		source := own()
		source.Exchange = "missing"
		c.SetSource(source)
		synctest.Wait()
		w.state(c, "held")
		if !w.routed("eu.nl") {
			t.Fatal("the old binding is gone")
		}
	})
}

func TestDetachUnbindsAndKeepsTheQueue(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1")
		must(t, c.Detach(w.ctx))
		if w.routed("eu.nl") {
			t.Fatal("still bound")
		}
		if got := w.nextBody(c); got != "1" {
			t.Fatal(got)
		}
		time.Sleep(time.Minute) // asserting again does not bind again
		if w.routed("eu.nl") {
			t.Fatal("bound again")
		}
	})
}

func TestForeignQueueIsNeverDeclared(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.ours.Consumer(federation.Source{Queue: "legacy"})
		time.Sleep(time.Minute)
		if state := w.state(c, "held"); !strings.Contains(state.Reason, "legacy") {
			t.Fatalf("%+v", state)
		}
		if _, exists := w.broker.Queue("legacy"); exists {
			t.Fatal("declared")
		}
		_, err := w.service().QueueDeclare("legacy", true, false, false, false, nil)
		must(t, err)
		w.publish("", "legacy", "1")
		if got := w.nextBody(c); got != "1" {
			t.Fatal(got)
		}
	})
}

func TestOwnQueueWithOtherArgumentsIsUnsafeAndServed(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.declareTopic()
		_, err := w.service().QueueDeclare("cq.out.orders", true, false, false, false, amqp.Table{"x-max-length": int64(10)})
		must(t, err)
		c := w.ours.Consumer(own())
		synctest.Wait()
		if state := w.state(c, "unsafe"); !strings.Contains(state.Reason, "x-max-length") || state.Fix == "" {
			t.Fatalf("%+v", state)
		}
		w.publish("orders", "eu.nl", "1")
		w.next(c)
	})
}
