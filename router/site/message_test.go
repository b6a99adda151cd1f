package site_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/amqpwire"
	"cloudqueue/localbroker/amqpwire/wiretest"
)

// publishRaw publishes messages with the property bytes that they have; no client library writes them all.
func (m *member) publishRaw(messages []federation.Message) {
	t := m.world.t
	t.Helper()
	b, err := localbroker.New(localbroker.Config{URL: "amqp://" + m.amqp + "/", Username: "guest", Password: "guest", Site: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	p := b.Publisher(0)
	incarnation, err := p.Acquire(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan federation.Outcome, len(messages))
	for _, message := range messages {
		p.Publish(ctx, incarnation, message, func(o federation.Outcome) { outcomes <- o })
	}
	for range messages {
		if o := <-outcomes; o.Kind != federation.Confirmed {
			t.Fatalf("%+v", o)
		}
	}
}

func TestEveryEncodingOfPropertiesCrossesByteForByte(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	var messages []federation.Message
	for _, e := range wiretest.Encodings() {
		raw := bytes.Replace(e.Raw, []byte("\x0260\x01m"), []byte("\x0560000\x01m"), 1) // 60 ms may be over on the way
		messages = append(messages, federation.Message{Exchange: "orders", RoutingKey: "orders.new", Properties: raw, Body: []byte(e.Name)})
	}
	ams.publishRaw(messages)
	ams.receipted("ams/orders", federation.Offset(len(messages)))

	arrived := nyc.broker.Snapshot("in")
	if len(arrived) != len(messages) {
		t.Fatalf("%d of %d arrived", len(arrived), len(messages))
	}
	for i, m := range messages {
		got := arrived[i]
		if facts, err := amqpwire.Read(got.Properties); err != nil || facts.ID == "" || facts.Duplicate || facts.HasExpiration && facts.Expiration > time.Minute {
			t.Errorf("%s: %+v, %v", m.Body, facts, err)
		}
		if !bytes.Equal(got.Body, m.Body) || !bytes.Equal(withoutOurs(t, got.Properties), withoutOurs(t, m.Properties)) {
			t.Errorf("%s: %q arrived as %q", m.Body, m.Properties, got.Properties)
		}
	}
	ams.balanced()
	nyc.balanced()
}

// withoutOurs makes properties comparable that went through a router with those that did not: none of its headers, but a
// header table, and one expiration for all that expire.
func withoutOurs(t *testing.T, raw []byte) []byte {
	t.Helper()
	facts, err := amqpwire.Read(raw)
	raw, err2 := amqpwire.Rewrite(raw, amqpwire.Edit{Origin: "ams", SetExpiration: facts.HasExpiration})
	raw, err3 := amqpwire.Rewrite(raw, amqpwire.Edit{DropForged: true})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestAnExpirationShrinksOnTheWay(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	published := time.Now()
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("m1"), Expiration: "600000"})
	eventually(t, "ams has stored it", func() bool { return ams.laneOut("ams/orders").LastAssigned == 1 })
	nyc.start()
	ams.receipted("ams/orders", 1)

	facts, err := amqpwire.Read(nyc.broker.Snapshot("in")[0].Properties)

	way := time.Since(published)
	if lifetime := 10 * time.Minute; err != nil || facts.Expiration < lifetime-way-time.Millisecond || facts.Expiration >= lifetime {
		t.Errorf("expiration %s, %v; want below 10 minutes by the time on the way, at most %s", facts.Expiration, err, way)
	}
}

func TestAMessageThatExpiresOnItsWayIsCountedExpired(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()
	ams.publish("orders", 1, 5)
	for i := range 3 {
		ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("late"), Expiration: strconv.Itoa(2000 + i)}) // the broker must not expire it before it is taken
	}
	ams.publish("orders", 6, 10)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 13 })
	stored := time.Now()
	eventually(t, "the lifetime is over", func() bool { return time.Since(stored) > 2002*time.Millisecond })
	nyc.start()

	ams.receipted("ams/orders", 13)
	if diff := cmp.Diff(numbered(1, 10), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if got := nyc.laneIn("ams/orders"); got.Expired != 3 || got.Delivered != 10 {
		t.Errorf("at nyc: %d expired, %d delivered; want 3, 10", got.Expired, got.Delivered)
	}
	ams.balanced()
	nyc.balanced()
}

const chain = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
  sin: {listen: ["%(sin)"]}
routes:
  there:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
  on:
    from: {site: nyc, exchange: orders, keys: ["orders.#"]}
    to: [{site: sin}]
    max-hops: 1
`

func TestAMessageOverItsHopsIsExcludedAndOthersGoOn(t *testing.T) {
	w := newWorld(t, "ams", "nyc", "sin")
	w.apply(chain)
	ams, nyc, sin := w.sites["ams"], w.sites["nyc"], w.sites["sin"]
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	sin.declare("orders", "in")
	for _, m := range []*member{ams, nyc, sin} {
		m.start()
	}
	ams.bound("cq.out.there")
	nyc.bound("cq.out.on")

	ams.publish("orders", 1, 10) // has visited ams when it enters route on
	nyc.receipted("nyc/on", 10)
	nyc.publish("orders", 11, 20)
	nyc.receipted("nyc/on", 20)

	if diff := cmp.Diff(numbered(1, 20), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbered(11, 20), sin.bodies("in")); diff != "" {
		t.Errorf("at sin (-want +got):\n%s", diff)
	}
	if got := sin.laneIn("nyc/on"); got.Excluded != 10 || got.Delivered != 10 {
		t.Errorf("at sin: %d excluded, %d delivered; want 10 each", got.Excluded, got.Delivered)
	}
	for _, m := range []*member{ams, nyc, sin} {
		m.balanced()
	}
}
