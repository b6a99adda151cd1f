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
