package site_test

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/load"
)

// BenchmarkMessageCrossesTwoSites1KiB is the whole way in one process: an AMQP client, two embedded brokers, two routers with
// localdir, QUIC on loopback. JSON events of 1 KiB, 2,000 unconfirmed at the publisher.
func BenchmarkMessageCrossesTwoSites1KiB(b *testing.B) {
	ams, nyc := pair(b, twoSites)
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	ch := ams.channel()
	if err := ch.Confirm(false); err != nil {
		b.Fatal(err)
	}
	generator := load.NewGenerator(1, 1024)
	b.ReportAllocs()
	b.SetBytes(1024)
	b.ResetTimer()
	open := make([]*amqp.DeferredConfirmation, 0, b.N)
	for i := range b.N {
		body := generator.Append(nil, load.Event{Lane: "orders", Index: uint64(i + 1)})
		c, err := ch.PublishWithDeferredConfirm("orders", "orders.new", false, false, amqp.Publishing{Body: body, DeliveryMode: 2})
		if err != nil {
			b.Fatal(err)
		}
		if open = append(open, c); i >= 2000 {
			open[i-2000].Wait()
		}
	}
	eventually(b, "all arrived", func() bool {
		q, _ := nyc.broker.Queue("in")
		return q.Ready == b.N
	})
}
