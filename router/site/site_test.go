package site_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

const twoSites = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
`

func numbered(first, last int) []string {
	var out []string
	for i := first; i <= last; i++ {
		out = append(out, fmt.Sprintf("m%d", i))
	}
	return out
}

func TestMessagesCrossFromOneBrokerToAnother(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(twoSites)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")

	ams.publish("orders", 1, 100)

	eventually(t, "100 messages at nyc", func() bool { return len(nyc.bodies("in")) >= 100 })
	if diff := cmp.Diff(numbered(1, 100), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
}

func TestACleanRestartOfBothSitesFlagsNothing(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 50)
	ams.receipted("ams/orders", 50)

	nyc.stopRouter()
	ams.stopRouter()
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 51, 100)

	ams.receipted("ams/orders", 100)
	if diff := cmp.Diff(numbered(1, 100), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
	nyc.balanced()
}

func TestMessagesWaitWhileTheDestinationIsDown(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.stopRouter()

	ams.publish("orders", 1, 500)
	eventually(t, "ams has stored all", func() bool { return ams.laneOut("ams/orders").LastAssigned == 500 })
	ams.balanced()
	ams.stopRouter() // the backlog comes from the store
	ams.start()
	nyc.start()

	ams.receipted("ams/orders", 500)
	if diff := cmp.Diff(numbered(1, 500), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	eventually(t, "the origin has forgotten all", func() bool { return ams.laneOut("ams/orders").StoredBytes == 0 })
	ams.balanced()
}

const fanOut = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
  sin: {listen: ["%(sin)"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}, {site: sin}]
`

func TestADeadDestinationDelaysNoOther(t *testing.T) {
	w := newWorld(t, "ams", "nyc", "sin")
	w.apply(fanOut)
	ams, nyc, sin := w.sites["ams"], w.sites["nyc"], w.sites["sin"]
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	sin.declare("orders", "in")
	ams.start()
	sin.start()
	ams.bound("cq.out.orders")

	ams.publish("orders", 1, 100)
	eventually(t, "100 messages at sin, with nyc down", func() bool { return len(sin.bodies("in")) == 100 })
	nyc.start()

	ams.receipted("ams/orders", 100)
	for _, m := range []*member{nyc, sin} {
		if diff := cmp.Diff(numbered(1, 100), m.bodies("in")); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", m.id, diff)
		}
		m.balanced()
	}
}

const bothWays = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
routes:
  there:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
  back:
    from: {site: nyc, exchange: orders, keys: ["orders.#"]}
    to: [{site: ams}]
`

func TestRoutesInBothDirectionsOnOneExchangeDoNotLoop(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(bothWays)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "in")
	nyc.declare("orders", "in")
	ams.start()
	nyc.start()
	ams.bound("cq.out.there")
	nyc.bound("cq.out.back")

	ams.publish("orders", 1, 10)

	nyc.receipted("nyc/back", 10) // what came from ams is taken at nyc, and excluded
	if diff := cmp.Diff(numbered(1, 10), ams.bodies("in")); diff != "" {
		t.Errorf("at ams (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbered(1, 10), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if got := ams.laneIn("nyc/back").Excluded; got != 10 {
		t.Errorf("excluded at ams: %d, want 10", got)
	}
	ams.balanced()
	nyc.balanced()
}

func TestAMissingExchangeHoldsTheLaneUntilItIsDeclared(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(twoSites)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "")
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")

	ams.publish("orders", 1, 10)
	eventually(t, "the lane is held, and says what to do", func() bool {
		l := nyc.laneIn("ams/orders")
		return l.State == "held" && l.Reason != "" && l.Fix != ""
	})
	nyc.declare("orders", "in")

	ams.receipted("ams/orders", 10)
	if diff := cmp.Diff(numbered(1, 10), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
}

func TestAnAlarmOfTheDestinationsBrokerHoldsAndResumes(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.broker.SetAlarm(true)
	ams.publish("orders", 1, 100)
	eventually(t, "status says that something waits for the broker", func() bool {
		return nyc.status().Broker.State == "alarm" || nyc.laneIn("ams/orders").State == "held"
	})
	nyc.broker.SetAlarm(false)

	ams.receipted("ams/orders", 100)
	if diff := cmp.Diff(numbered(1, 100), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
}

const twoRoutes = twoSites + `  more:
    from: {site: ams, exchange: more, keys: ["#"]}
    to: [{site: nyc}]
`

func TestARouteIsAddedAndRemovedLiveWithoutTouchingAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.declare("more", "")
	nyc.declare("more", "more-in")
	before := ams.laneOut("ams/orders").Since

	ams.world.apply(twoRoutes)
	ams.bound("cq.out.more")
	ams.publish("more", 1, 10)
	ams.receipted("ams/more", 10)
	accept := "accept-stranding: [" + ams.status().Topology.Digest[:12] + "]\n"
	ams.world.apply(accept + twoSites)
	late := ams.channel()
	returned := late.NotifyReturn(make(chan amqp.Return, 1000))
	eventually(t, "nothing is bound to the removed route's queue", func() bool {
		if err := errors.Join(late.Publish("more", "any", true, false, amqp.Publishing{Body: []byte("too late")})); err != nil {
			t.Fatal(err)
		}
		select {
		case <-returned:
			return true
		case <-time.After(100 * time.Millisecond): // routed: the router has not unbound its queue yet
			return false
		}
	})
	ams.publish("orders", 1, 10)

	ams.receipted("ams/orders", 10)
	if diff := cmp.Diff(numbered(1, 10), firsts(nyc.bodies("more-in"))[:10]); diff != "" {
		t.Errorf("more at nyc (-want +got):\n%s", diff)
	}
	if after := ams.laneOut("ams/orders").Since; !after.Equal(before) {
		t.Errorf("lane orders changed its state at %s, it was running since %s", after, before)
	}
}

const noRoute = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
`

func TestALaneThatTheDestinationsTopologyDoesNotHaveYetIsHeldAndResumes(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(twoSites)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	own := nyc.ownTopology()
	w.applyTo(own, noRoute)
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")

	ams.publish("orders", 1, 100)
	eventually(t, "the origin says that the destination's topology is old, and what to do", func() bool {
		l := ams.laneOut("ams/orders")
		return len(l.Destinations) == 1 && l.Destinations[0].State == admin.Held && strings.Contains(l.Destinations[0].Reason, "TOPOLOGY_OLD") && l.Destinations[0].Fix != ""
	})
	if got := nyc.refused("lane", "TOPOLOGY_OLD"); got == 0 {
		t.Error("nyc has not counted it")
	}
	w.applyTo(own, twoSites)

	ams.receipted("ams/orders", 100)
	if diff := cmp.Diff(numbered(1, 100), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
	nyc.balanced()
}

// ownTopology lets the site follow a file of its own, and gives its path.
func (m *member) ownTopology() string {
	t := m.world.t
	t.Helper()
	file := filepath.Join(m.dir(), "router.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m.write("router.yaml", strings.Replace(string(text), "../topology.yaml", "own.yaml", 1))
	return filepath.Join(m.dir(), "own.yaml")
}

func TestAClosedRouterLeavesNoGoroutine(t *testing.T) {
	w := newWorld(t, "ams", "nyc")
	w.apply(bothWays)
	ams, nyc := w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "in")
	nyc.declare("orders", "in")
	before := working()
	for round := range 3 {
		ams.start()
		nyc.start()
		ams.bound("cq.out.there")
		nyc.bound("cq.out.back")
		ams.publish("orders", 1, 50)
		ams.receipted("ams/there", federation.Offset(50*(round+1)))
		ams.stopRouter()
		nyc.stopRouter()
	}

	eventually(t, "as many goroutines as before", func() bool { return len(working()) <= len(before) })
}

// working are the stacks of goroutines in the product's code, but for the embedded broker, which outlives routers.
func working() []string {
	buffer := make([]byte, 8<<20)
	var out []string
	for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")[1:] { // the first is ours
		if !strings.Contains(stack, "localbroker/embedded") && (strings.Contains(stack, "cloudqueue/") || strings.Contains(stack, "quic-go")) && !strings.Contains(stack, "site_test.") {
			out = append(out, stack)
		}
	}
	return out
}

const threeSites = twoSites + `  away:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: sin}]
`

func TestASiteIsAddedAndRemovedLiveWithoutTouchingAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	w := ams.world
	before := ams.laneOut("ams/orders").Since
	w.add("sin")
	sin := w.sites["sin"]
	sin.declare("orders", "in")

	w.apply(strings.Replace(threeSites, "routes:", "  sin: {listen: [\"%(sin)\"]}\nroutes:", 1))
	sin.start()
	ams.bound("cq.out.away")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/away", 10)
	w.apply("accept-stranding: [" + ams.status().Topology.Digest[:12] + "]\n" + twoSites)
	eventually(t, "ams has no link with sin any more", func() bool { return ams.linkTo("sin").Peer == "" })
	ams.publish("orders", 11, 20)
	ams.receipted("ams/orders", 20)

	for m, want := range map[*member]int{nyc: 20, sin: 10} {
		if diff := cmp.Diff(numbered(1, want), m.bodies("in")); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", m.id, diff)
		}
	}
	if after := ams.laneOut("ams/orders").Since; !after.Equal(before) {
		t.Errorf("lane orders changed its state at %s, it was running since %s", after, before)
	}
	ams.balanced()
}
