//go:build integration

package localbroker_test

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire"
)

// cpu is the CPU time of this process, which is the client's alone: the broker is another process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// event is a persistent message of 1 KiB with our five headers.
func event(b *testing.B, queue string) federation.Message {
	b.Helper()
	raw, err := amqpwire.Rewrite([]byte{0x90, 0x00, 10, 't', 'e', 'x', 't', '/', 'p', 'l', 'a', 'i', 'n', 2},
		amqpwire.Edit{ID: "ams/orders@1764534000000:120", Origin: "ams", Path: []string{"ams"}, Time: time.Now()})
	if err != nil {
		b.Fatal(err)
	}
	return federation.Message{RoutingKey: queue, Properties: raw, Body: make([]byte, 1024)}
}

func onBench(b *testing.B) (*localbroker.Broker, *amqp.Channel, func()) {
	b.Helper()
	address := benchURL(b)
	u := address
	conn, err := amqp.Dial(u)
	if err != nil {
		b.Fatal(err)
	}
	ch, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
	_, _ = ch.QueueDelete("bench", false, false, false)
	if _, err := ch.QueueDeclare("bench", true, false, false, false, nil); err != nil {
		b.Fatal(err)
	}
	uri, err := amqp.ParseURI(u)
	if err != nil {
		b.Fatal(err)
	}
	broker, err := localbroker.New(localbroker.Config{URL: "amqp://" + hostPort(uri) + "/", Username: uri.Username, Password: uri.Password, Site: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ran := make(chan error, 1)
	go func() { ran <- broker.Run(ctx) }()
	return broker, ch, func() {
		stop()
		<-ran
		_, _ = ch.QueueDelete("bench", false, false, false)
		_ = conn.Close()
	}
}

func BenchmarkRealPublishConfirm1KiB(b *testing.B) {
	broker, _, done := onBench(b)
	defer done()
	p := broker.Publisher(0)
	incarnation, err := p.Acquire(b.Context(), false)
	if err != nil {
		b.Fatal(err)
	}
	m := event(b, "bench")
	var told sync.WaitGroup
	outcome := func(o federation.Outcome) {
		if o.Kind != federation.Confirmed {
			b.Errorf("%+v", o)
		}
		told.Done()
	}
	b.ReportAllocs()
	b.SetBytes(int64(m.Size()))
	before := cpu(b)
	for b.Loop() {
		told.Add(1)
		p.Publish(b.Context(), incarnation, m, outcome)
	}
	told.Wait()
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/msg")
}

func BenchmarkRealConsume1KiBAck100(b *testing.B) {
	broker, _, done := onBench(b)
	defer done()
	const n = 50000
	fill(b, broker, n)
	c := broker.Consumer(federation.Source{Queue: "bench"})
	first, err := c.Next(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Ack(b.Context(), first.Tag); err != nil {
		b.Fatal(err)
	}
	last := first
	b.ReportAllocs()
	before, taken := cpu(b), 1
	b.ResetTimer()
	for taken < n {
		if last, err = c.Next(b.Context()); err != nil {
			b.Fatal(err)
		}
		if taken++; taken%100 == 0 || taken < 100 { // the prefetch begins with 8
			if err := c.Ack(b.Context(), last.Tag); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1000/float64(taken-1), "cpu-µs/msg")
	b.ReportMetric(0, "ns/op") // of an unrelated b.N
	b.ReportMetric(float64(taken-1)/b.Elapsed().Seconds(), "msg/s")
}

func fill(b *testing.B, broker *localbroker.Broker, n int) {
	b.Helper()
	p := broker.Publisher(0)
	incarnation, err := p.Acquire(b.Context(), false)
	if err != nil {
		b.Fatal(err)
	}
	m := event(b, "bench")
	var told sync.WaitGroup
	for range n {
		told.Add(1)
		p.Publish(b.Context(), incarnation, m, func(federation.Outcome) { told.Done() })
	}
	told.Wait()
}

func benchURL(b *testing.B) string {
	b.Helper()
	address := os.Getenv("CLOUDQUEUE_TEST_AMQP")
	if address == "" {
		b.Fatal("CLOUDQUEUE_TEST_AMQP names no RabbitMQ")
	}
	return address
}

func hostPort(uri amqp.URI) string { return net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)) }
