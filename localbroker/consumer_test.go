package localbroker_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/localbroker"
)

func TestConsumerDeclaresBindsAndTakesInOrder(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		// given a service's exchange
		w.declareTopic()

		// when a consumer of it is made and the service publishes
		c := w.ours.Consumer(own())
		synctest.Wait()
		w.publish("orders", "eu.nl", "1", "2", "3")

		// then all of it comes, in order, unflagged, and what is acked is gone
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
		synctest.Wait()
		q, _ := w.broker.Queue("cq.out.orders")
		if q.Ready != 0 || q.Unacked != 0 || !q.Durable {
			t.Fatalf("%+v", q)
		}
		if s := c.State(); s.State != "running" {
			t.Fatalf("%+v", s)
		}
	})
}

func TestPublisherConfirmsReturnsAndMeasures(t *testing.T) {
	inWorld(t, func(c *localbroker.Config) { c.MaxMessageSize = 1000 }, func(w *world) {
		w.declareTopic()
		_, err := w.service().QueueDeclare("q", true, false, false, false, nil)
		must(t, err)
		p := w.ours.Publisher(0)
		incarnation := w.acquire(p)
		var o outcomes
		p.Publish(w.ctx, incarnation, message("", "q", "routed"), o.of("routed"))
		p.Publish(w.ctx, incarnation, message("orders", "nobody", "unroutable"), o.of("unroutable"))
		p.Publish(w.ctx, incarnation, message("", "q", string(make([]byte, 1001))), o.of("large"))
		p.Publish(w.ctx, incarnation+1, message("", "q", "other"), o.of("other"))
		synctest.Wait()
		want := map[string][]string{"routed": {"confirmed"}, "unroutable": {"returned"}, "large": {"too large"}, "other": {"unknown"}}
		if diff := cmp.Diff(want, o.kinds()); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([]string{"routed"}, w.bodies("q")); diff != "" {
			t.Fatal(diff)
		}
	})
}
