//go:build integration

package parts

import (
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

func TestARabbitMQNodeKeepsConfirmedMessagesWhenKilled(t *testing.T) {
	node, err := StartRabbitMQ(t.Context(), RabbitMQConfig{Name: "parts", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	publishConfirmed(t, node.URL())

	node.Kill()
	if err := node.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	channel := openChannel(t, node.URL())
	if m, ok, err := channel.Get("kept", true); err != nil || !ok || string(m.Body) != "hello" {
		t.Errorf("got %q, %v, %v; want the message from before the kill", m.Body, ok, err)
	}
}

func TestAlarmsOfARabbitMQNodeAreRaisedAndCleared(t *testing.T) {
	node, err := StartRabbitMQ(t.Context(), RabbitMQConfig{Name: "alarm", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	conn, err := amqp.Dial(node.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	blocked := conn.NotifyBlocked(make(chan amqp.Blocking, 2))
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}

	if err := node.SetAlarm(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := channel.Publish("", "nobody", false, false, amqp.Publishing{}); err != nil { // only publishers are told
		t.Fatal(err)
	}
	if b := <-blocked; !b.Active {
		t.Error("want blocked")
	}
	if err := node.SetAlarm(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if b := <-blocked; b.Active {
		t.Error("want unblocked")
	}
}

func openChannel(t *testing.T, url string) *amqp.Channel {
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
	return channel
}

// publishConfirmed puts one confirmed, persistent message into the durable queue "kept".
func publishConfirmed(t *testing.T, url string) {
	t.Helper()
	channel := openChannel(t, url)
	if _, err := channel.QueueDeclare("kept", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirm, err := channel.PublishWithDeferredConfirmWithContext(t.Context(), "", "kept", true, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: []byte("hello")})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := confirm.WaitContext(t.Context()); err != nil || !ok {
		t.Fatalf("confirm: %v, %v", ok, err)
	}
}
