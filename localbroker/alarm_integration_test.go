//go:build integration

package localbroker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/sim/parts"
)

// A memory alarm while a window is being published: RabbitMQ stops reading the connection, and hangs a client without deadlines for ever
// (decisions.md, M3). The node is the test's own: an alarm stops everybody's publishers.
func TestRealAlarmHoldsPublishesAndConsumingGoesOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	node, err := parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: "alarm", Dir: t.TempDir()})
	must(t, err)
	t.Cleanup(node.Close)
	r := onBroker(t, node.URL(), nil)
	r.queue()
	r.exchange()
	c := r.ours.Consumer(r.source())
	r.running(c)
	r.publish(r.name, "eu.nl", "before")
	p := r.ours.Publisher(0)
	incarnation := r.acquire(p)

	// given an alarm, and more to publish than a socket's buffers take
	must(t, node.SetAlarm(ctx, true))
	var o outcomes
	const n = 3000
	published := make(chan struct{})
	go func() {
		defer close(published)
		for i := range n {
			m := message("", r.name, "")
			m.Body = append(fmt.Append(nil, i, " "), make([]byte, 4096)...)
			p.Publish(r.ctx, incarnation, m, o.of(fmt.Sprint(i)))
		}
	}()
	r.eventually("alarm", func() bool { return p.State().State == "alarm" })
	time.Sleep(20 * time.Second) // longer than the write and the call timeout

	// then it shows, nothing failed, and consuming goes on
	if s := r.ours.Status(); s.Publishing.State != "alarm" || s.Consuming.State != "running" || len(o.kinds()) != 0 {
		t.Fatalf("%+v, %d outcomes", s, len(o.kinds()))
	}
	must(t, c.Ack(r.ctx, r.next(c).Tag))

	// when it ends all is confirmed on the same channel
	must(t, node.SetAlarm(ctx, false))
	<-published
	r.eventually("outcomes", func() bool { return len(o.kinds()) == n })
	for i := range n {
		if got := o.get(fmt.Sprint(i)); got.Kind != federation.Confirmed {
			t.Fatalf("%d: %+v", i, got)
		}
	}
	if got := len(r.messages(r.name)); got != n || r.acquire(p) != incarnation {
		t.Fatalf("%d messages", got)
	}
}
