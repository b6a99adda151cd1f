package site_test

import (
	"strings"
	"testing"
)

// billsToNyc is twoSites with another key.
var billsToNyc = strings.Replace(twoSites, `"orders.#"`, `"bills.#"`, 1)

func TestAKeyThatIsTakenOutWhileTheRouterIsDownIsUnboundWhenItStarts(t *testing.T) {
	ams, _ := running(t, twoSites, "#")
	ams.bound("cq.out.orders")
	ams.stopRouter()
	ams.world.apply(billsToNyc)

	ams.start()

	ams.bound("cq.out.orders")
	ams.becomes(false, "orders.late")
}

func TestAKeyThatTheBrokerWasNotThereToUnbindIsUnboundAfterRestarts(t *testing.T) {
	ams, nyc := running(t, twoSites, "#")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)
	ams.world.apply(billsToNyc)
	ams.becomes(false, "orders.late")
	ams.stopsBoundBy(t, "orders.#") // the broker was away when the key went

	ams.start()

	ams.bound("cq.out.orders")
	ams.becomes(false, "orders.late")
	ams.world.apply(twoSites)
	ams.becomes(true, "orders.late")
	ams.replace(noRoute)
	ams.draining("ams/orders")
	ams.becomes(false, "orders.late")
	ams.stopsBoundBy(t, "bills.#")

	ams.start()

	ams.becomes(false, "bills.late")
	ams.balanced()
	nyc.balanced()
}

// stopsBoundBy stops the router, and its queue is bound by a key as if the broker had not been told to unbind it.
func (m *member) stopsBoundBy(t *testing.T, key string) {
	t.Helper()
	m.stopRouter()
	if err := m.confirming().QueueBind("cq.out.orders", key, "orders", false, nil); err != nil {
		t.Fatal(err)
	}
}
