package site_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
)

// channel is a client of the site's broker.
func (m *member) channel() *amqp.Channel {
	m.world.t.Helper()
	return m.channelAs("guest")
}

func (m *member) channelAs(user string) *amqp.Channel {
	t := m.world.t
	t.Helper()
	conn, err := amqp.Dial("amqp://" + user + ":" + user + "@" + m.amqp + "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// declare makes a topic exchange and, unless the name is empty, a queue bound to all of it.
func (m *member) declare(exchange, queue string) {
	t := m.world.t
	t.Helper()
	ch := m.channel()
	if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if queue == "" {
		return
	}
	_, err := ch.QueueDeclare(queue, true, false, false, false, nil)
	if err = errors.Join(err, ch.QueueBind(queue, "#", exchange, false, nil)); err != nil {
		t.Fatal(err)
	}
}

// publish sends bodies first … last with confirms, once the router has bound its queue.
func (m *member) publish(exchange string, first, last int) {
	m.world.t.Helper()
	m.publishOn(m.confirming(), exchange, first, last)
}

func (m *member) confirming() *amqp.Channel {
	m.world.t.Helper()
	ch := m.channel()
	if err := ch.Confirm(false); err != nil {
		m.world.t.Fatal(err)
	}
	return ch
}

func (m *member) publishOn(ch *amqp.Channel, exchange string, first, last int) {
	t := m.world.t
	t.Helper()
	var open []*amqp.DeferredConfirmation
	for i := first; i <= last; i++ {
		c, err := ch.PublishWithDeferredConfirm(exchange, "orders.new", true, false, amqp.Publishing{Body: fmt.Appendf(nil, "m%d", i), DeliveryMode: 2})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		if !c.Wait() {
			t.Fatal("the broker refuses a message")
		}
	}
}

// bodies are what stands in a queue, oldest first; a flagged one has a star.
func (m *member) bodies(queue string) []string {
	var out []string
	for _, msg := range m.broker.Snapshot(queue) {
		body := string(msg.Body)
		if strings.Contains(string(msg.Properties), "x-cq-duplicatet\x01") {
			body += "*"
		}
		out = append(out, body)
	}
	return out
}

// firsts are the first appearances, flagged or not, in their order.
func firsts(bodies []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, b := range bodies {
		if b = strings.TrimSuffix(b, "*"); !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}

// unrepeated fails the test when an unflagged message had appeared before (G3).
func unrepeated(t *testing.T, bodies []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, b := range bodies {
		name, flagged := strings.CutSuffix(b, "*")
		if seen[name] && !flagged {
			t.Errorf("%s appears again, unflagged", name)
		}
		seen[name] = true
	}
}
