package site_test

import (
	"fmt"
	"testing"
)

// The topologies of the stories, each a text with the sites' addresses to be filled in. noRoute and threeSitesAlone are what the
// others begin with.
const (
	noRoute = `
federation: acme
sites:
  ams: {listen: ["%(ams)"]}
  nyc: {listen: ["%(nyc)"]}
`
	threeSitesAlone = noRoute + `  sin: {listen: ["%(sin)"]}
`
	ordersToNyc = `  orders:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
`
	twoSites  = noRoute + "routes:\n" + ordersToNyc
	twoRoutes = twoSites + `  more:
    from: {site: ams, exchange: more, keys: ["#"]}
    to: [{site: nyc}]
`
	fromQueue = noRoute + `routes:
  orders:
    from: {site: ams, queue: outgoing}
    to: [{site: nyc}]
`
	bothWays = noRoute + `routes:
  there:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
  back:
    from: {site: nyc, exchange: orders, keys: ["orders.#"]}
    to: [{site: ams}]
`
	fanOut = threeSitesAlone + `routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}, {site: sin}]
`
	threeSites = threeSitesAlone + "routes:\n" + ordersToNyc + `  away:
    from: {site: ams, exchange: orders, keys: ["orders.#"]}
    to: [{site: sin}]
`
	twoOrigins = threeSitesAlone + "routes:\n" + ordersToNyc + `  news:
    from: {site: sin, exchange: orders, keys: ["orders.#"]}
    to: [{site: nyc}]
`
)

// pair gives ams and nyc of a new world, with exchange orders at both and queue in at nyc. Their routers do not run.
func pair(t testing.TB, topology string) (ams, nyc *member) {
	t.Helper()
	w := newWorld(t, "ams", "nyc")
	w.apply(topology)
	ams, nyc = w.sites["ams"], w.sites["nyc"]
	ams.declare("orders", "")
	nyc.declare("orders", "in")
	return ams, nyc
}

// mirrored is a pair with routes in both directions, and queue in at both.
func mirrored(t testing.TB) (ams, nyc *member) {
	t.Helper()
	ams, nyc = pair(t, bothWays)
	ams.declare("orders", "in")
	return ams, nyc
}

func numbered(first, last int) []string {
	var out []string
	for i := first; i <= last; i++ {
		out = append(out, fmt.Sprintf("m%d", i))
	}
	return out
}
