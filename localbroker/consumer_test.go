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
