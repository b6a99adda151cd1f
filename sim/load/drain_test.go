package load

import (
	"testing"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/lane"
)

// The depth is read first: what comes then must not stay hidden in the queue.
func TestADrainTakesWhatComesBehindTheDepthThatItSaw(t *testing.T) {
	broker, url := lane.Broker(t, embedded.Config{})
	lane.Declare(t, url, lane.Queue)
	p := NewPublisher(PublisherConfig{URL: url, Exchange: lane.Exchange, RoutingKey: "orders.new", Lane: lane.Name, Count: 300})
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	appeared, err := drainFrom(t.Context(), url, lane.Queue, 0, 200)

	if q, _ := broker.Queue(lane.Queue); err != nil || len(appeared) != 300 || appeared[299].Index != 300 || q.Ready+q.Unacked != 0 {
		t.Errorf("%d appearances, %v; %d ready, %d unacked are left; want all 300", len(appeared), err, q.Ready, q.Unacked)
	}
}
