package site_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
)

// routerConnections are the connections that the site's router has to its broker.
func (m *member) routerConnections() []uint64 {
	var out []uint64
	for _, c := range m.broker.Connections() {
		if strings.HasPrefix(c.Name, "cloudqueue "+string(m.id)+" ") {
			out = append(out, c.ID)
		}
	}
	return out
}

// interrupt ends the router's connections to its broker in the way given, each time after some more messages arrived at nyc.
func interrupt(t *testing.T, at, nyc *member, times int, end func(id uint64)) {
	t.Helper()
	for range times {
		before := len(nyc.bodies("in"))
		eventually(t, "messages arrive", func() bool { return len(nyc.bodies("in")) >= before+500 })
		for _, id := range at.routerConnections() {
			end(id)
		}
		eventually(t, "the router is back at its broker", func() bool { return len(at.routerConnections()) == 2 })
	}
}

// stream publishes to nyc, never more than 5,000 messages ahead of its queue, until stop is called, which tells how many there were.
func (m *member) stream(exchange string, nyc *member) (stop func() int) {
	m.world.t.Helper()
	ch := m.confirming()
	over, last := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { last <- n }()
		for {
			q, _ := nyc.broker.Queue("in")
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				if n < q.Ready+5000 {
					m.publishOn(ch, exchange, n+1, n+100)
					n += 100
				}
			}
		}
	}()
	return func() int {
		close(over)
		return <-last
	}
}

func TestABrokerThatEndsConnectionsMidStreamCausesFlaggedRepeatsAlone(t *testing.T) {
	says := func(m *member, id uint64) { m.broker.CloseConnection(id, "test") }
	cuts := func(m *member, id uint64) { m.broker.CutConnection(id) }
	for _, c := range []struct {
		name  string
		where string
		end   func(m *member, id uint64)
	}{{"the destination's says why", "nyc", says}, {"the destination's is cut", "nyc", cuts}, {"the origin's says why", "ams", says}, {"the origin's is cut", "ams", cuts}} {
		t.Run(c.name, func(t *testing.T) {
			ams, nyc := running(t, twoSites, "#")
			broken := ams.world.sites[federation.SiteID(c.where)]
			stop := ams.stream("orders", nyc)

			interrupt(t, broken, nyc, 3, func(id uint64) { c.end(broken, id) })
			published := stop()

			eventually(t, "all have arrived", func() bool { return len(firsts(nyc.bodies("in"))) == published })
			ams.settled("ams/orders")
			if diff := cmp.Diff(numbered(1, published), firsts(nyc.bodies("in"))); diff != "" {
				t.Errorf("first appearances at nyc (-want +got):\n%s", diff)
			}
			unrepeated(t, nyc.bodies("in"))
			ams.balanced()
			nyc.balanced()
		})
	}
}

// settled waits until everything that the lane assigned is receipted: how many there are may depend on redeliveries.
func (m *member) settled(lane string) {
	m.world.t.Helper()
	eventually(m.world.t, "lane "+lane+" is receipted", func() bool {
		l := m.laneOut(lane)
		return l.LastAssigned > 0 && l.StoredMessages == 0
	})
}

func TestTheRoutersOwnQueueIsMadeAgainWhenItIsDeleted(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	if _, err := ams.channel().QueueDelete("cq.out.orders", false, false, false); err != nil {
		t.Fatal(err)
	}
	ams.bound("cq.out.orders")
	ams.publish("orders", 11, 20)

	ams.receipted("ams/orders", 20)
	if diff := cmp.Diff(numbered(1, 20), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
}

func TestAQueueOfSomebodyElseThatIsDeletedHoldsTheLaneUntilItIsThereAgain(t *testing.T) {
	ams, nyc := pair(t, fromQueue)
	ams.declare("orders", "outgoing")
	ams.start()
	nyc.start()
	ams.bound("outgoing")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	if _, err := ams.channel().QueueDelete("outgoing", false, false, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lane says that its queue is missing, and what to do", func() bool {
		l := ams.laneOut("ams/orders")
		return l.State == admin.Held && strings.Contains(l.Reason, "outgoing") && l.Fix != ""
	})
	ams.declare("orders", "outgoing")
	ams.bound("outgoing")
	ams.publish("orders", 11, 20)

	ams.receipted("ams/orders", 20)
	if diff := cmp.Diff(numbered(1, 20), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
}

// holding has a lane that waits for a queue, so that an exchange may come back before its binding.
const holding = twoSites + "    on-unroutable: hold\n"

func TestAnExchangeThatIsDeletedMidStreamHoldsTheLaneUntilItIsDeclaredAgain(t *testing.T) {
	ams, nyc := running(t, holding, "#")
	ams.publish("orders", 1, 100)
	ams.receipted("ams/orders", 100)

	if err := nyc.channel().ExchangeDelete("orders", false, false); err != nil {
		t.Fatal(err)
	}
	ams.publish("orders", 101, 200)
	eventually(t, "the lane is held for its exchange, and says what to do", func() bool {
		l := nyc.laneIn("ams/orders")
		return l.State == admin.Held && strings.Contains(l.Reason, `exchange "orders" does not exist`) && l.Fix != ""
	})
	nyc.declare("orders", "")
	nyc.bindQueue("in", "#", "orders")

	ams.receipted("ams/orders", 200)
	if diff := cmp.Diff(numbered(1, 200), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("first appearances at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	nyc.parked(0)
	nyc.balanced()
}

func TestABrokerThatIsAwayForLongHoldsTheLaneAndResumes(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	nyc.endBroker()
	ams.publish("orders", 11, 200)
	eventually(t, "status of nyc says that its broker is away", func() bool {
		st := nyc.status()
		return !st.Broker.State.Healthy() && st.Broker.Reason != "" && nyc.laneIn("ams/orders").State == admin.Held
	})
	nyc.startBroker()
	nyc.declare("orders", "in") // the embedded broker forgets its queues

	ams.receipted("ams/orders", 200)
	if diff := cmp.Diff(numbered(11, 200), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	nyc.balanced()
}
