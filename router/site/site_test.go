package site_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
)

func TestMessagesCrossFromOneBrokerToAnother(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")

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

func TestRoutesInBothDirectionsOnOneExchangeDoNotLoop(t *testing.T) {
	ams, nyc := mirrored(t)
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

func TestAClosedRouterLeavesNoGoroutine(t *testing.T) {
	ams, nyc := mirrored(t)
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
