package site_test

import (
	"errors"
	"os"
	"path/filepath"
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

func TestAKeyThatWasBoundBeforeTheTopologyWasKeptIsUnboundAfterAnEdit(t *testing.T) {
	ams, _ := running(t, twoSites, "#")
	ams.bound("cq.out.orders")
	mend := ams.keepsNoTopology(t)
	ams.world.apply(billsToNyc)
	ams.becomes(true, "bills.new")
	ams.stopRouter() // what it has bound is durable, the topology is not
	mend()
	ams.world.apply(strings.Replace(twoSites, `"orders.#"`, `"news.#"`, 1))

	ams.start()

	ams.becomes(true, "news.new")
	ams.becomes(false, "bills.late")
	ams.becomes(false, "orders.late")
}

// keepsNoTopology has a folder where the last good copy should be written to.
func (m *member) keepsNoTopology(t *testing.T) (mend func()) {
	t.Helper()
	path := filepath.Join(m.dir(), "data", "topology.last-good.yaml")
	var written []byte
	eventually(t, "the first topology is kept", func() bool {
		var err error
		written, err = os.ReadFile(path)
		return err == nil
	})
	if err := errors.Join(os.Remove(path), os.MkdirAll(filepath.Join(path, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, written, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// stopsBoundBy stops the router, and its queue is bound by a key as if the broker had not been told to unbind it.
func (m *member) stopsBoundBy(t *testing.T, key string) {
	t.Helper()
	m.stopRouter()
	if err := m.confirming().QueueBind("cq.out.orders", key, "orders", false, nil); err != nil {
		t.Fatal(err)
	}
}
