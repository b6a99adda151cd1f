package site_test

import (
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/router/admin"
)

func TestAMessageThatNoStoreHoldsWaitsInItsQueueUntilItIsTakenOut(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 2)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: make([]byte, 17<<20)})
	ams.publish("orders", 3, 4)

	eventually(t, "the lane is held with what came before in it", func() bool {
		lane := ams.laneOut("ams/orders")
		return lane.State == admin.Held && strings.Contains(lane.Reason, "17825792 bytes") && strings.Contains(lane.Fix, "cq.out.orders") && lane.LastAssigned == 2
	})
	eventually(t, "the message is taken out", func() bool {
		got, ok, err := ams.channel().Get("cq.out.orders", false)
		return err == nil && ok && len(got.Body) == 17<<20 && got.Ack(false) == nil
	})

	ams.receipted("ams/orders", 4)
	if got := nyc.bodies("in"); len(got) != 4 {
		t.Errorf("at nyc: %q", got)
	}
	ams.parked(0)
	ams.balanced()
	nyc.balanced()
}
