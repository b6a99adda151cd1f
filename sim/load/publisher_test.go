package load

import (
	"testing"
	"time"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/lane"
)

func TestAHurriedPublisherKeepsNoRate(t *testing.T) {
	_, url := lane.Broker(t, embedded.Config{})
	lane.Declare(t, url, lane.Queue)
	p := NewPublisher(PublisherConfig{URL: url, Exchange: lane.Exchange, RoutingKey: "orders.new", Lane: lane.Name, Rate: 0.001})
	p.Hurry(true)

	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context()) }()
	for confirmed := 0; confirmed < 500; _, confirmed = p.Counts() { // at its rate: in six days
		time.Sleep(time.Millisecond)
	}

	p.Hurry(false)
	p.Finish()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
