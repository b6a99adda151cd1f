package localbroker_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

// smallBudget takes a message for 2 KiB at least: 32 of them fill the budget.
func smallBudget(c *localbroker.Config) { c.PrefetchBytes, c.MaxPrefetch = 64<<10, 32 }

// take acks n deliveries, one by one.
func (w *world) take(c *localbroker.Consumer, n int) (last federation.Delivery) {
	w.t.Helper()
	for range n {
		last = w.next(c)
		must(w.t, c.Ack(w.ctx, last.Tag))
	}
	synctest.Wait()
	return last
}

func numbered(n int) (bodies []string) {
	for i := range n {
		bodies = append(bodies, fmt.Sprint(i))
	}
	return bodies
}

func TestPrefetchBeginsSmallAndGrowsToItsBytes(t *testing.T) {
	inWorld(t, smallBudget, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", numbered(32)...)
		w.queue("cq.out.orders", 24, 8)
		w.take(c, 32)
		w.publish("orders", "eu.nl", numbered(40)...)
		w.queue("cq.out.orders", 8, 32)
		if last := w.take(c, 40); last.Tag.Incarnation != 1 || last.Tag.Number != 72 || last.Redelivered {
			t.Fatalf("%+v", last)
		}
	})
}

func TestPrefetchShrinksWhenLargeMessagesCome(t *testing.T) {
	inWorld(t, smallBudget, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", numbered(40)...)
		w.take(c, 40)
		// when a large one comes
		large := strings.Repeat("x", 15<<10)
		w.publish("orders", "eu.nl", large)
		w.take(c, 1)
		// then four are asked for at once, on the same channel
		w.publish("orders", "eu.nl", large, large, large, large, large, large)
		w.queue("cq.out.orders", 2, 4)
		if last := w.take(c, 6); last.Tag.Incarnation != 1 || last.Redelivered {
			t.Fatalf("%+v", last)
		}
	})
}

func TestPrefetchWaitsForAcksBeforeItAsksForMore(t *testing.T) {
	inWorld(t, smallBudget, func(w *world) {
		c := w.consuming()
		w.publish("orders", "eu.nl", numbered(40)...)
		w.take(c, 40)
		// given 88 KiB held of a budget of 64, in messages that were asked for as small ones
		must(t, c.Pause(w.ctx))
		large := strings.Repeat("x", 11<<10)
		w.publish("orders", "eu.nl", large, large, large, large, large, large, large, large)
		c.Resume()
		w.queue("cq.out.orders", 0, 8)
		// then nothing more comes until enough of it is acked, and then in order
		w.publish("orders", "eu.nl", "after")
		w.queue("cq.out.orders", 1, 8)
		w.take(c, 1)
		w.queue("cq.out.orders", 1, 7)
		last := w.take(c, 8)
		if string(last.Message.Body) != "after" || last.Tag != (federation.Tag{Incarnation: 2, Number: 9}) || last.Redelivered {
			t.Fatalf("%+v", last)
		}
	})
}

func TestLargeMessagesWhereSmallOnesWereExpectedEndTheIncarnation(t *testing.T) {
	inWorld(t, smallBudget, func(w *world) {
		w.declareTopic()
		c := w.ours.Consumer(own())
		synctest.Wait()
		must(t, c.Pause(w.ctx))
		large := strings.Repeat("x", 40<<10)
		w.publish("orders", "eu.nl", large, large, large, large, large, large)
		c.Resume()
		synctest.Wait()
		q, _ := w.broker.Queue("cq.out.orders")
		if q.Unacked > 4 {
			t.Fatalf("%d messages of 40 KiB are held, the budget is 64 KiB", q.Unacked)
		}
		for range 6 {
			must(t, c.Ack(w.ctx, w.next(c).Tag))
		}
		w.queue("cq.out.orders", 0, 0)
	})
}
