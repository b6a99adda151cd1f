package site_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/router"
	"cloudqueue/router/admin"
)

// publishOne sends one message with a key of its own.
func (m *member) publishOne(exchange, key string, p amqp.Publishing) {
	m.world.t.Helper()
	ch := m.channel()
	if err := ch.Publish(exchange, key, false, false, p); err != nil {
		m.world.t.Fatal(err)
	}
	if err := ch.Close(); err != nil { // after the publish: the broker has it
		m.world.t.Fatal(err)
	}
}

// running starts ams → nyc with exchange orders at both and queue in at nyc, bound with one key.
func running(t *testing.T, topology, key string) (ams, nyc *member) {
	t.Helper()
	w := newWorld(t, "ams", "nyc")
	w.apply(topology)
	ams, nyc = w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "")
	nyc.declare("orders", "")
	nyc.bindQueue("in", key, "orders")
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	return ams, nyc
}

func (m *member) bindQueue(queue, key, exchange string) {
	m.world.t.Helper()
	ch := m.channel()
	if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		m.world.t.Fatal(err)
	}
	if err := ch.QueueBind(queue, key, exchange, false, nil); err != nil {
		m.world.t.Fatal(err)
	}
}

// parked waits until so many messages are parked at the site, and gives them.
func (m *member) parked(n int) []admin.Parked {
	m.world.t.Helper()
	var list *admin.ParkedList
	eventually(m.world.t, "messages are parked", func() bool {
		var err error
		list, err = m.client().Parked(m.world.t.Context(), admin.ParkFilter{})
		return err == nil && len(list.Parked) == n
	})
	return list.Parked
}

func TestAnUnroutableMessageIsParkedAndItsNeighboursGoOn(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.new")

	ams.publish("orders", 1, 3)
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: []byte("lost sheep")})
	ams.publish("orders", 4, 6)

	parked := nyc.parked(1)
	ams.receipted("ams/orders", 7)
	if diff := cmp.Diff(numbered(1, 6), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if p := parked[0]; p.Reason != router.ReasonUnroutable || p.Offset != 4 {
		t.Errorf("parked: %+v", p)
	}
	ams.balanced()
	nyc.balanced()
}

func TestAParkedMessageIsRedrivenFlaggedOnceItCanBeRouted(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.new")
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: []byte("lost sheep")})
	id := nyc.parked(1)[0].ID
	ams.receipted("ams/orders", 1)
	again := admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{id}}, Who: "test", Why: "bound now"}

	early, err := nyc.client().Redrive(t.Context(), again)
	if err != nil || len(early.Failed) != 1 {
		t.Errorf("redrive of what still cannot be routed: %+v, %v", early, err)
	}
	nyc.bindQueue("in", "orders.unbound", "orders")
	done, err := nyc.client().Redrive(t.Context(), again)

	if err != nil || done.Done != 1 {
		t.Fatalf("redrive: %+v, %v", done, err)
	}
	if diff := cmp.Diff([]string{"lost sheep*"}, nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	nyc.parked(0)
	nyc.balanced()
}

func TestARedrivenMessageKeepsItsPathItsLifetimeAndItsTime(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.new")
	nyc.stopRouter()
	published := time.Now()
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: []byte("lost sheep"), Expiration: "600000", Headers: amqp.Table{"x-cq-path": []any{"ber"}}})
	eventually(t, "ams has stored it", func() bool { return ams.laneOut("ams/orders").LastAssigned == 1 })
	stored := time.Now()
	eventually(t, "it waits for a while", func() bool { return time.Since(stored) > 50*time.Millisecond })
	nyc.start()
	id := nyc.parked(1)[0].ID
	waited := time.Since(published)
	ams.receipted("ams/orders", 1)
	nyc.bindQueue("in", "orders.unbound", "orders")
	if done, err := nyc.client().Redrive(t.Context(), admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{id}}, Who: "test", Why: "bound now"}); err != nil || done.Done != 1 {
		t.Fatalf("redrive: %+v, %v", done, err)
	}

	m, ok, err := nyc.channel().Get("in", true)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if at, _ := m.Headers["x-cq-time"].(int64); at < published.UnixMilli() || at > stored.UnixMilli() {
		t.Errorf("taken at %d, published at %d and stored by %d", at, published.UnixMilli(), stored.UnixMilli())
	}
	if left, err := strconv.Atoi(m.Expiration); err != nil || left > 600_000-50 || left < 600_000-int(waited.Milliseconds())-1 {
		t.Errorf("expiration %q, %v; it waited %s of 10 minutes", m.Expiration, err, waited)
	}
	if path, _ := m.Headers["x-cq-path"].([]any); !slices.Equal(path, []any{"ber", "ams"}) {
		t.Errorf("path %v", path)
	}
}

func TestADropNeedsAReasonAndEndsTheParking(t *testing.T) {
	ams, nyc := running(t, twoSites, "orders.new")
	ams.publishOne("orders", "orders.unbound", amqp.Publishing{Body: []byte("lost sheep")})
	id := nyc.parked(1)[0].ID
	ams.receipted("ams/orders", 1)

	if _, err := nyc.client().Drop(t.Context(), admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{id}}, Who: "test"}); err == nil {
		t.Error("a drop without a reason is taken")
	}
	done, err := nyc.client().Drop(t.Context(), admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{id}}, Who: "test", Why: "a test message"})

	if err != nil || done.Done != 1 {
		t.Fatalf("drop: %+v, %v", done, err)
	}
	nyc.parked(0)
	nyc.balanced()
}

const trusting = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
    trust-user-id: true
    max-message-size: 1KiB
`

func TestARefusedMessageIsFoundAmongItsNeighbours(t *testing.T) {
	ams, nyc := running(t, trusting, "#")
	ams.publish("orders", 1, 20)

	ch := ams.channelAs("alice") // nyc's router logs in as guest: the broker refuses her id there
	if err := ch.Publish("orders", "orders.new", false, false, amqp.Publishing{Body: []byte("from alice"), UserId: "alice"}); err != nil {
		t.Fatal(err)
	}
	if err := ch.Close(); err != nil {
		t.Fatal(err)
	}
	ams.publish("orders", 21, 40)

	if p := nyc.parked(1)[0]; p.Reason != router.ReasonRefused || p.Offset != 21 {
		t.Errorf("parked: %+v", p)
	}
	ams.receipted("ams/orders", 41)
	if diff := cmp.Diff(numbered(1, 40), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("first appearances at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	nyc.balanced()
}

func TestAMessageOverWhichTheBrokerClosesTheConnectionIsParkedAndItsNeighboursGoOn(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	closes := func(a embedded.Arrival) embedded.Fate {
		if string(a.Body) == "deadly" {
			return embedded.FateCloses
		}
		return embedded.FateNormal
	}
	nyc.fate.Store(&closes)
	ams.publish("orders", 1, 20)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("deadly")})
	ams.publish("orders", 21, 40)

	p := nyc.parked(1)[0]
	ams.receipted("ams/orders", 41)
	if p.Reason != router.ReasonRefused || p.Offset != 21 {
		t.Errorf("parked: %+v", p)
	}
	if diff := cmp.Diff(numbered(1, 40), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("first appearances at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	ams.balanced()
	nyc.balanced()
}

func TestAMessageThatClosedTheConnectionIsRedrivenOnAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	closes := func(embedded.Arrival) embedded.Fate { return embedded.FateCloses }
	nyc.fate.Store(&closes)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: []byte("deadly")})
	again := admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{nyc.parked(1)[0].ID}}, Who: "test", Why: "the broker was mended"}
	ams.receipted("ams/orders", 1)
	before := nyc.routerConnections()

	early, err := nyc.client().Redrive(t.Context(), again)

	if err != nil || len(early.Failed) != 1 {
		t.Errorf("redrive of what still closes the connection: %+v, %v", early, err)
	}
	after := nyc.routerConnections()
	if slices.ContainsFunc(before, func(id uint64) bool { return !slices.Contains(after, id) }) {
		t.Errorf("connections %v before the redrive, %v after it", before, after)
	}
	nyc.fate.Store(nil)
	done, err := nyc.client().Redrive(t.Context(), again)
	if err != nil || done.Done != 1 {
		t.Fatalf("redrive: %+v, %v", done, err)
	}
	if diff := cmp.Diff([]string{"deadly*"}, nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	nyc.balanced()
}

func TestATooLargeMessageIsParkedAtItsOriginAndRedrivenOnceTheRouteTakesIt(t *testing.T) {
	ams, nyc := running(t, trusting, "#")
	large := make([]byte, 2000)
	ams.publishOne("orders", "orders.new", amqp.Publishing{Body: large})
	ams.publish("orders", 1, 2)
	p := ams.parked(1)[0]
	ams.receipted("ams/orders", 3)
	again := admin.ParkAction{Filter: admin.ParkFilter{IDs: []string{p.ID}}, Who: "test", Why: "the limit was raised"}

	if early, err := ams.client().Redrive(t.Context(), again); err != nil || len(early.Failed) != 1 {
		t.Errorf("redrive below the old limit: %+v, %v", early, err)
	}
	ams.world.apply(twoSites)
	eventually(t, "the redriven message is sealed", func() bool {
		done, err := ams.client().Redrive(t.Context(), again)
		return err == nil && done.Done == 1
	})

	ams.receipted("ams/orders", 4)
	if got := nyc.bodies("in"); len(got) != 3 || got[2] != string(large)+"*" {
		t.Errorf("at nyc: %d messages", len(got))
	}
	ams.parked(0)
	ams.balanced()
	nyc.balanced()
}
