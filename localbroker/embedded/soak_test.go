package embedded_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
)

// ledger is what publishers were promised and consumers have got.
type ledger struct {
	mu        sync.Mutex
	confirmed map[string]bool
	delivered map[string]int
}

func (l *ledger) confirm(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.confirmed[id] = true
}

func (l *ledger) deliver(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delivered[id]++
}

// While connections are cut at random, every message that was confirmed reaches a consumer.
func TestNothingConfirmedIsLostWhenConnectionsAreCut(t *testing.T) {
	broker := embedded.New(embedded.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "amqp://guest:guest@" + l.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	books := &ledger{confirmed: map[string]bool{}, delivered: map[string]int{}}
	var server, clients sync.WaitGroup
	server.Go(func() { broker.Serve(context.Background(), l) })
	for i := range 3 {
		clients.Go(func() { untilDone(ctx, func(n int) { publishSome(ctx, url, fmt.Sprintf("%d-%d", i, n), books) }) })
		clients.Go(func() { untilDone(ctx, func(int) { consumeSome(ctx, url, books) }) })
	}
	cutAtRandom(ctx, broker)
	clients.Wait()

	for _, m := range broker.Snapshot("q") {
		books.deliver(string(m.Body))
	}
	lost := 0
	for id := range books.confirmed {
		if books.delivered[id] == 0 {
			lost++
		}
	}
	t.Logf("%d confirmed, %d delivered, %d lost", len(books.confirmed), len(books.delivered), lost)
	if lost > 0 || len(books.confirmed) == 0 {
		t.Errorf("%d of %d confirmed messages are lost", lost, len(books.confirmed))
	}
	if err := broker.Close(context.Background()); err != nil {
		t.Error(err)
	}
	server.Wait()
}

func untilDone(ctx context.Context, do func(n int)) {
	for n := 0; ctx.Err() == nil; n++ {
		do(n)
	}
}

func cutAtRandom(ctx context.Context, broker *embedded.Broker) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		if conns := broker.Connections(); len(conns) > 0 {
			broker.CutConnection(conns[rand.IntN(len(conns))].ID)
		}
	}
}

// channelTo opens a connection and a channel, and makes sure of the queue. It is nil when the connection is cut meanwhile.
func channelTo(url string) (*amqp.Connection, *amqp.Channel) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, nil
	}
	ch, err := conn.Channel()
	if err == nil {
		_, err = ch.QueueDeclare("q", true, false, false, false, nil)
	}
	if err != nil {
		conn.Close()
		return nil, nil
	}
	return conn, ch
}

func publishSome(ctx context.Context, url, prefix string, books *ledger) {
	conn, ch := channelTo(url)
	if conn == nil {
		return
	}
	defer conn.Close()
	if ch.Confirm(false) != nil {
		return
	}
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("%s-%d", prefix, n)
		confirm, err := ch.PublishWithDeferredConfirm("", "q", true, false, amqp.Publishing{Body: []byte(id)})
		if err != nil {
			return
		}
		if acked, err := confirm.WaitContext(ctx); err == nil && acked {
			books.confirm(id)
		}
	}
}

func consumeSome(ctx context.Context, url string, books *ledger) {
	conn, ch := channelTo(url)
	if conn == nil {
		return
	}
	defer conn.Close()
	if ch.Qos(10, 0, false) != nil {
		return
	}
	deliveries, err := ch.ConsumeWithContext(ctx, "q", "", false, false, false, false, nil)
	if err != nil {
		return
	}
	for d := range deliveries {
		books.deliver(string(d.Body))
		if d.Ack(false) != nil {
			return
		}
	}
}
