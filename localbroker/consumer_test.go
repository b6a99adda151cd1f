package localbroker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

// consuming gives a consumer of own() that runs, on a declared exchange.
func (w *world) consuming() *localbroker.Consumer {
	w.t.Helper()
	w.declareTopic()
	c := w.ours.Consumer(own())
	synctest.Wait()
	w.state(c, "running")
	return c
}

func (w *world) state(part interface{ State() federation.PartState }, want federation.State) federation.PartState {
	w.t.Helper()
	state := part.State()
	if state.State != want {
		w.t.Fatalf("state %+v, want %q", state, want)
	}
	return state
}

// queue checks what is ready and unacked.
func (w *world) queue(name string, ready, unacked int) {
	w.t.Helper()
	synctest.Wait()
	q, _ := w.broker.Queue(name)
	if q.Ready != ready || q.Unacked != unacked {
		w.t.Fatalf("queue %s has %d ready and %d unacked, want %d and %d", name, q.Ready, q.Unacked, ready, unacked)
	}
}

func TestConsumerDeclaresBindsAndTakesInOrder(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2", "3")
		got := []string{w.nextBody(c), w.nextBody(c)}
		last := w.next(c)
		got = append(got, string(last.Message.Body))
		if diff := cmp.Diff([]string{"1", "2", "3"}, got); diff != "" {
			t.Fatal(diff)
		}
		if last.Redelivered || last.Message.Exchange != "orders" || last.Message.RoutingKey != "eu.nl" {
			t.Fatalf("%+v", last)
		}
		must(t, c.Ack(w.ctx, last.Tag))
		w.queue("cq.out.orders", 0, 0)
		if q, _ := w.broker.Queue("cq.out.orders"); !q.Durable {
			t.Fatal("the queue is not durable")
		}
	})
}

func TestConsumerTakesUnackedAgainAfterALostConnection(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2", "3")
		first := w.next(c)
		w.next(c)
		must(t, c.Ack(w.ctx, first.Tag))
		synctest.Wait()
		w.cut()
		synctest.Wait()
		second, third := w.next(c), w.next(c)
		if string(second.Message.Body) != "2" || string(third.Message.Body) != "3" || !second.Redelivered || second.Tag.Incarnation == first.Tag.Incarnation {
			t.Fatalf("%+v, %+v", second, third)
		}
	})
}

func TestAckOfAnEarlierIncarnationAcknowledgesNothing(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		// given five deliveries of an incarnation that ended
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2", "3", "4", "5")
		var stale federation.Delivery
		for range 5 {
			stale = w.next(c)
		}
		w.cut()
		// when the next incarnation has brought three and the old tag is acked
		for range 3 {
			w.next(c)
		}
		must(t, c.Ack(w.ctx, stale.Tag))
		// then all five are still there
		w.queue("cq.out.orders", 0, 5)
		w.state(c, "running")
	})
}

func TestAckOfWhatNextNeverGaveIsAnError(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2")
		d := w.next(c)
		d.Tag.Number++
		if err := c.Ack(w.ctx, d.Tag); err == nil {
			t.Fatal("no error")
		}
		w.queue("cq.out.orders", 0, 2)
	})
}

func TestPauseGivesEverythingBackInOrder(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2", "3")
		w.next(c)
		w.next(c)
		must(t, c.Pause(w.ctx))
		w.state(c, "paused")
		w.queue("cq.out.orders", 3, 0)
		if diff := cmp.Diff([]string{"1", "2", "3"}, w.bodies("cq.out.orders")); diff != "" {
			t.Fatal(diff)
		}
		w.publish("orders", "eu.nl", "4")
		w.nothing(c, time.Hour)
		c.Resume()
		got := []string{w.nextBody(c), w.nextBody(c), w.nextBody(c), w.nextBody(c)}
		if diff := cmp.Diff([]string{"1", "2", "3", "4"}, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestPauseWithoutAConnectionHoldsToo(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.cut()
		must(t, c.Pause(w.ctx))
		w.publish("orders", "eu.nl", "1")
		w.nothing(c, time.Hour)
		w.queue("cq.out.orders", 1, 0)
	})
}

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

func TestQueueWithAnotherConsumerIsWaitedFor(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.declareTopic()
		ch := w.service()
		_, err := ch.QueueDeclare("legacy", true, false, false, false, nil)
		must(t, err)
		_, err = ch.Consume("legacy", "other", false, false, false, false, nil)
		must(t, err)
		c := w.ours.Consumer(federation.Source{Queue: "legacy"})
		time.Sleep(time.Minute)
		if state := w.state(c, "waiting"); !strings.Contains(state.Reason, "another consumer") {
			t.Fatalf("%+v", state)
		}
		must(t, ch.Cancel("other", false))
		w.publish("", "legacy", "1")
		w.next(c)
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

func TestCloseGivesEverythingBack(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", "1", "2")
		w.next(c)
		must(t, c.Close(w.ctx))
		w.queue("cq.out.orders", 2, 0)
		if _, err := c.Next(w.ctx); !errors.Is(err, localbroker.ErrClosed) {
			t.Fatal(err)
		}
		w.state(c, "closed")
	})
}

func TestConsumerOfABrokerThatNeverRanCloses(t *testing.T) {
	b, err := localbroker.New(localbroker.Config{URL: "amqp://nowhere", Site: "ams"})
	must(t, err)
	c := b.Consumer(own())
	must(t, c.Close(context.Background()))
	if _, err := c.Next(context.Background()); !errors.Is(err, localbroker.ErrClosed) {
		t.Fatal(err)
	}
}

func TestQuorumQueuesDeliveryCountMakesADeliveryRedelivered(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		c := w.consuming()
		ch := w.service()
		must(t, ch.Publish("orders", "eu.nl", false, false, amqp.Publishing{Headers: amqp.Table{"x-delivery-count": int64(2)}}))
		must(t, ch.Publish("orders", "eu.nl", false, false, amqp.Publishing{Headers: amqp.Table{"x-delivery-count": int64(0)}}))
		if !w.next(c).Redelivered || w.next(c).Redelivered {
			t.Fatal("want the first redelivered and the second not")
		}
	})
}
