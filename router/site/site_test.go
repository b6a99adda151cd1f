package site_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
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
