package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
)

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
		return l.State == admin.Held && strings.Contains(l.Reason, `exchange "orders" does not exist`) && strings.Contains(l.Fix, "on-missing-exchange")
	})
	nyc.declare("orders", "in")

	ams.receipted("ams/orders", 10)
	if diff := cmp.Diff(numbered(1, 10), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	ams.balanced()
	nyc.balanced()
}

func TestAnAlarmOfTheDestinationsBrokerHoldsAndResumes(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	nyc.broker.SetAlarm(true)
	ams.publish("orders", 1, 100)
	eventually(t, "broker and lane say that the alarm holds them, and what to do", func() bool {
		b, l := nyc.status().Broker, nyc.laneIn("ams/orders")
		return alarmed(b.Condition) && alarmed(l.Condition)
	})
	nyc.broker.SetAlarm(false)

	ams.receipted("ams/orders", 100)
	if diff := cmp.Diff(numbered(1, 100), firsts(nyc.bodies("in"))); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	unrepeated(t, nyc.bodies("in"))
	ams.balanced()
	nyc.balanced()
}

// alarmed tells whether a part is held by the broker's alarm and says what to do.
func alarmed(c admin.Condition) bool {
	return c.State == admin.Held && strings.Contains(c.Reason, "alarm") && strings.Contains(c.Fix, "rabbitmq-diagnostics alarms")
}

func TestAnAlarmOfTheOriginsBrokerHoldsNothingThatIsInItAlready(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.stopRouter()
	ams.publish("orders", 1, 100)
	ams.broker.SetAlarm(true) // publishers wait, consumers do not, and the router's owner lock is no publish
	ams.start()

	ams.receipted("ams/orders", 100)
	ams.broker.SetAlarm(false)
	ams.publish("orders", 101, 200)
	ams.receipted("ams/orders", 200)
	if diff := cmp.Diff(numbered(1, 200), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	if l := ams.laneOut("ams/orders"); l.State != admin.Running || l.IngestDuplicates != 0 {
		t.Errorf("lane %+v, %d taken twice", l.Condition, l.IngestDuplicates)
	}
	ams.balanced()
	nyc.balanced()
}

func TestALaneThatTheDestinationsTopologyDoesNotHaveYetIsHeldAndResumes(t *testing.T) {
	ams, nyc := pair(t, twoSites)
	own := nyc.ownTopology()
	ams.world.applyTo(own, noRoute)
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
	ams.world.applyTo(own, twoSites)

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
