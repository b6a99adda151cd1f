//go:build integration

package load

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/check"
	"cloudqueue/sim/parts"
)

// broker starts a RabbitMQ node of the test's own, to be killed.
func broker(t *testing.T) *parts.RabbitMQ {
	t.Helper()
	node, err := parts.StartRabbitMQ(t.Context(), parts.RabbitMQConfig{Name: "load", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node
}

// declareQueue makes a durable queue and ends it with the test.
func declareQueue(t *testing.T, url, queue string) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { channel.QueueDelete(queue, false, false, false) })
}

func testURL(t *testing.T) string {
	t.Helper()
	url := os.Getenv("CLOUDQUEUE_TEST_AMQP")
	if url == "" {
		t.Fatal("CLOUDQUEUE_TEST_AMQP is not set: run this by make test, or by scripts/with-brokers go test -tags integration")
	}
	return url
}

func TestPublishedMessagesAreDrainedInOrder(t *testing.T) {
	url, queue := testURL(t), fmt.Sprintf("load-%d", time.Now().UnixNano())
	declareQueue(t, url, queue)
	p := NewPublisher(PublisherConfig{URL: url, RoutingKey: queue, Lane: "ams/orders", Seed: 5, Count: 2000, Window: 100})

	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	appeared, err := Drain(t.Context(), url, queue, 5)
	if err != nil {
		t.Fatal(err)
	}

	r := check.Report{Faultless: true, Verdicts: []check.Verdict{check.Judge(check.History{Lane: "ams/orders", Queue: queue, Published: p.Published(), Appeared: appeared})}}
	if !r.OK() || r.Sum().Delivered != 2000 {
		t.Errorf("want 2000 delivered and no problem:\n%s", r)
	}
}

func TestPublisherRecordsWhatTheBrokerReturns(t *testing.T) {
	p := NewPublisher(PublisherConfig{URL: testURL(t), RoutingKey: "load-no-such-queue", Lane: "ams/orders", Count: 10})

	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	for i, published := range p.Published() {
		if published.Outcome != check.Returned {
			t.Errorf("publish %d: outcome %d, want Returned", i+1, published.Outcome)
		}
	}
}

func TestConsumerGetsWhatThePublisherSends(t *testing.T) {
	url, queue := testURL(t), fmt.Sprintf("load-%d", time.Now().UnixNano())
	declareQueue(t, url, queue)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []check.Appearance
	c := NewConsumer(ConsumerConfig{URL: url, Queue: queue, Handle: func(r Received) {
		got = append(got, r.Appearance)
		if len(got) == 500 {
			cancel()
		}
	}})
	p := NewPublisher(PublisherConfig{URL: url, RoutingKey: queue, Lane: "ams/orders", Count: 500, Rate: 2000})

	published := make(chan error, 1)
	go func() { published <- p.Run(t.Context()) }()
	if err := c.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-published; err != nil {
		t.Fatal(err)
	}

	v := check.Judge(check.History{Lane: "ams/orders", Published: p.Published(), Appeared: got, Consumed: true})
	if v.Delivered != 500 || v.Lost.Count+v.Inversions.Count+v.Altered.Count != 0 {
		t.Errorf("got %+v, want 500 delivered in order", v)
	}
}

func TestPublisherSurvivesABrokerThatIsKilled(t *testing.T) {
	node := broker(t)
	declareQueue(t, node.URL(), "orders")
	p := NewPublisher(PublisherConfig{URL: node.URL(), RoutingKey: "orders", Lane: "ams/orders", Rate: 3000})
	done := make(chan error, 1)
	go func() { done <- p.Run(t.Context()) }()

	for kills := 1; kills <= 2; kills++ {
		waitConfirmed(t, p, 500*kills)
		node.Kill()
		if err := node.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	waitConfirmed(t, p, 3000)
	p.Finish()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	appeared, err := Drain(t.Context(), node.URL(), "orders", 0)
	if err != nil {
		t.Fatal(err)
	}

	r := check.Report{Verdicts: []check.Verdict{check.Judge(check.History{Lane: "ams/orders", Queue: "orders", Published: p.Published(), Appeared: appeared})}}
	t.Logf("\n%s", r)
	if !r.OK() {
		t.Error("the broker alone, without a router, must show no offence")
	}
}

// waitConfirmed waits until so many publishes are confirmed.
func waitConfirmed(t *testing.T, p *Publisher, want int) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, confirmed := p.Counts(); confirmed >= want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %d confirmed after three minutes", want)
		}
	}
}
