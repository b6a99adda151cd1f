package embedded

import (
	"context"
	"net"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

func serve(t *testing.T, cfg Config) (*Broker, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := New(cfg)
	served := make(chan error, 1)
	go func() { served <- b.Serve(t.Context(), l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		<-served
	})
	return b, "amqp://guest:guest@" + l.Addr().String()
}

func TestSmoke(t *testing.T) {
	b, url := serve(t, Config{})
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ch.QueueDeclare("q", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := ch.Confirm(false); err != nil {
		t.Fatal(err)
	}
	c, err := ch.PublishWithDeferredConfirm("", "q", true, false, amqp.Publishing{Body: []byte("hello"), Headers: amqp.Table{"a": int64(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Wait() {
		t.Fatal("nack")
	}
	t.Log(b.Queues())
	ds, err := ch.Consume("q", "", false, true, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := <-ds
	t.Logf("%+v", d)
	d.Ack(false)
	ch2, _ := conn.Channel()
	_, err = ch2.Consume("q", "", false, true, false, false, nil)
	t.Log(err)
}
