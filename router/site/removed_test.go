package site_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/router/admin"
)

// mappedRoute is twoRoutes with a mapping.
const mappedRoute = twoSites + `  more:
    from: {site: ams, exchange: more, keys: ["#"]}
    to: [{site: nyc, queue: more-in}]
`

// runningMore starts ams → nyc with route more beside orders.
func runningMore(t *testing.T) (ams, nyc *member) {
	t.Helper()
	ams, nyc = running(t, twoSites, "#")
	ams.declare("more", "")
	nyc.declare("more", "more-in")
	ams.world.apply(mappedRoute)
	ams.bound("cq.out.more")
	return ams, nyc
}

// replace gives the world's file another topology, with the word that what strands is meant. The site m must run.
func (m *member) replace(text string) {
	m.world.t.Helper()
	m.world.apply("accept-stranding: [" + m.status().Topology.Digest[:12] + "]\n" + text)
}

// draining waits until the lane says that its route is gone.
func (m *member) draining(lane string) {
	m.world.t.Helper()
	eventually(m.world.t, "lane "+lane+" drains", func() bool { return m.laneOut(lane).State == admin.Draining })
}

func TestWhatIsSealedOfARemovedRouteDrainsAfterRestartsOfBothSites(t *testing.T) {
	ams, nyc := runningMore(t)
	nyc.runs(ams.status().Topology.Digest)
	nyc.stopRouter()
	ams.publish("more", 1, 50)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/more").LastAssigned == 50 })

	ams.replace(twoSites)
	ams.draining("ams/more")
	want := ams.status().Topology.Digest
	ams.stopRouter()
	nyc.start()
	nyc.runs(want)
	nyc.stopRouter()
	ams.start()
	nyc.start()

	ams.receipted("ams/more", 50)
	if diff := cmp.Diff(numbered(1, 50), nyc.bodies("more-in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
	nyc.balanced()
}

func TestTheQueueOfARemovedRouteIsUnboundAndDrainsAfterARestart(t *testing.T) {
	ams, nyc := runningMore(t)
	ams.publish("more", 1, 10)
	ams.receipted("ams/more", 10)
	ams.replace(twoSites)
	ams.draining("ams/more")
	ams.stopRouter()
	client := ams.confirming() // the broker was away when the route went: its queue is bound, and filled
	if err := client.QueueBind("cq.out.more", "#", "more", false, nil); err != nil {
		t.Fatal(err)
	}
	ams.publishOn(client, "more", 11, 30)

	ams.start()

	ams.receipted("ams/more", 30)
	if diff := cmp.Diff(numbered(1, 30), nyc.bodies("more-in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if got := ams.laneOut("ams/more"); got.State != admin.Draining || got.Fix == "" {
		t.Errorf("lane %+v, want it draining and what to type", got.Condition)
	}
	eventually(t, "nothing is bound to the queue", func() bool { return !ams.routed("more") })
	ams.balanced()
	nyc.balanced()
}

// runs waits until the site runs a topology.
func (m *member) runs(digest string) {
	m.world.t.Helper()
	eventually(m.world.t, string(m.id)+" runs the topology "+digest, func() bool { return m.status().Topology.Digest == digest })
}

func TestTheQueueOfARemovedRouteDrainsThoughTheLastGoodCopyIsLost(t *testing.T) {
	ams, nyc := runningMore(t)
	ams.publish("more", 1, 10)
	ams.receipted("ams/more", 10)
	ams.replace(twoSites)
	ams.draining("ams/more")
	ams.stopRouter()
	client := ams.confirming()
	if err := client.QueueBind("cq.out.more", "#", "more", false, nil); err != nil {
		t.Fatal(err)
	}
	ams.publishOn(client, "more", 11, 20)
	if err := os.Remove(filepath.Join(ams.dir(), "data", "topology.last-good.yaml")); err != nil {
		t.Fatal(err)
	}

	ams.start()

	ams.receipted("ams/more", 20)
	if diff := cmp.Diff(numbered(1, 20), nyc.bodies("more-in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
}

// routed publishes a message that must be routed, and tells whether it was.
func (m *member) routed(exchange string) bool {
	m.world.t.Helper()
	ch := m.confirming()
	defer ch.Close()
	return m.mandatory(ch, exchange, "orders.late")()
}

// mandatory gives what publishes a message that must be routed, and tells whether it was.
func (m *member) mandatory(ch *amqp.Channel, exchange, key string) func() bool {
	returned := ch.NotifyReturn(make(chan amqp.Return, 1))
	return func() bool {
		m.world.t.Helper()
		c, err := ch.PublishWithDeferredConfirm(exchange, key, true, false, amqp.Publishing{Body: []byte("too late")})
		if err != nil || !c.Wait() { // the return comes before the confirm
			m.world.t.Fatalf("not confirmed: %v", err)
		}
		select {
		case <-returned:
			return false
		default:
			return true
		}
	}
}

// becomes waits until messages with a key are routed, or until they are not.
func (m *member) becomes(routed bool, key string) {
	m.world.t.Helper()
	ch := m.confirming()
	defer ch.Close()
	is := m.mandatory(ch, "orders", key)
	eventually(m.world.t, fmt.Sprintf("messages with the key %s are routed: %v", key, routed), func() bool { return is() == routed })
}

func TestTheQueueOfARemovedRouteMayBeDeletedAndTheRouteComeBack(t *testing.T) {
	ams, nyc := runningMore(t)
	ams.replace(twoSites)
	ams.draining("ams/more")

	if _, err := ams.channel().QueueDelete("cq.out.more", false, true, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lane is closed", func() bool { return ams.laneOut("ams/more").State == admin.Closed })
	ams.stopRouter()
	ams.start()
	eventually(t, "the lane is closed after a restart", func() bool { return ams.laneOut("ams/more").State == admin.Closed })
	if _, exists := ams.broker.Queue("cq.out.more"); exists {
		t.Error("the queue is declared again")
	}
	ams.world.apply(mappedRoute)
	ams.bound("cq.out.more")
	ams.publish("more", 1, 10)

	ams.receipted("ams/more", 10)
	if diff := cmp.Diff(numbered(1, 10), nyc.bodies("more-in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
}

func TestARouteThatLeavesItsOwnQueueForAnotherUnbindsIt(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.bindQueue("outgoing", "theirs.#", "orders")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	ams.replace(fromQueue)
	ams.bound("outgoing")
	eventually(t, "nothing is bound to the queue that was left", func() bool { return !ams.routed("orders") })
	ams.world.apply(twoSites)
	ams.bound("cq.out.orders")
	ams.publish("orders", 11, 20)

	eventually(t, "what came later is at nyc", func() bool { return len(firsts(nyc.bodies("in"))) >= 20 })
	ams.balanced()
	nyc.balanced()
}
