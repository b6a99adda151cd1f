package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

// sites is the head of most documents below: lines 1 to 4.
const sites = `sites:
  ams: {listen: [ams.example.net:7443], labels: {region: eu}}
  nyc: {listen: [nyc.example.net:7443], labels: {region: us}}
  edge: {labels: {region: us}}
`

// route makes a document with one route that begins in line 7.
func route(lines string) string {
	return sites + "routes:\n  orders:\n" + lines
}

const (
	from = "    from: {site: ams, exchange: orders, keys: ['#']}\n"
	to   = "    to: [{site: nyc}]\n"
)

func TestParseTellsEveryMistakeWithItsPlaceAndWhatToWrite(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct{ name, src, want string }{
		// the head
		{"an unknown version", sites + "api-version: cloudqueue/v2\n", `t:5:14: api-version: version "cloudqueue/v2" of the format is not known to this version; write cloudqueue/v1`},
		{"a bad federation", sites + "federation: ACME\n", `t:5:13: federation: "ACME" is not a valid name of a federation; write 1 to 63 of a-z, 0-9 and -`},
		{"an unknown key", sites + "route: {}\n", `t:5:1: route: unknown key "route"; write routes`},
		{"modules", sites + "modules: {}\n", `t:5:1: modules: modules comes with a later version; write nothing here, and declare exchanges and queues at the brokers`},
		{"policies", sites + "policies: []\n", `t:5:1: policies: policies comes with a later version; write nothing here: routes alone say what may go where`},
		{"a short digest", sites + "accept-stranding: [1234]\n", "t:5:20: accept-stranding[0]: \"1234\" is not a digest of a document; write the first 12 digits or more of the digest that `topology plan` shows"},
		// sites
		{"no sites", "routes: {}\n", `t:1:1: sites: a topology needs two sites, there are 0; write sites: {ams: {listen: [ams.example.net:7443]}, nyc: {}}`},
		{"a bad site name", sites + "  Nyc_1: {}\n", `t:5:3: sites.Nyc_1: "Nyc_1" is not a valid name of a site; write 1 to 63 of a-z, 0-9 and -`},
		{"a long site name", sites + "  " + long + ": {}\n", fmt.Sprintf(`t:5:3: sites.%s: "%s" is not a valid name of a site; write 1 to 63 of a-z, 0-9 and -`, long, long)},
		{"a site twice", sites + "  ams: {}\n", `t:5:3: sites.ams: the key "ams" stands here twice, first in line 2; write it once`},
		{"an address without port", sites + "  sin: {listen: [sin.example.net]}\n", `t:5:18: sites.sin.listen[0]: "sin.example.net" has no port; write host:port as peers reach it, for example sin.example.net:7443`},
		{"a bad port", sites + "  sin: {listen: [sin:70000]}\n", `t:5:18: sites.sin.listen[0]: "70000" is not a port from 1 to 65535; write host:port as peers reach it, for example sin.example.net:7443`},
		{"an address that nobody can dial", sites + "  sin: {listen: [0.0.0.0:7443]}\n", `t:5:18: sites.sin.listen[0]: peers cannot dial 0.0.0.0; write host:port as peers reach it, for example sin.example.net:7443`},
		{"a bad host", sites + "  sin: {listen: ['a b:1']}\n", `t:5:18: sites.sin.listen[0]: "a b" is not a host name; write host:port as peers reach it, for example sin.example.net:7443`},
		{"an address of two sites", sites + "  sin: {listen: [ams.example.net:7443]}\n", `t:5:18: sites.sin.listen[0]: ams.example.net:7443 is already an address of site ams; write an address of its own for each site`},
		{"listen without brackets", sites + "  sin: {listen: sin:1}\n", `t:5:17: sites.sin.listen: a list is wanted here, there is a single value; write [sin:1]`},
		{"a bad label", sites + "  sin: {labels: {Region: x}}\n", `t:5:18: sites.sin.labels.Region: "Region" is not a valid name of a label; write 1 to 63 of a-z, 0-9 and -`},
		{"a quota of a store", sites + "  sin: {store-quota: 500GiB}\n", `t:5:9: sites.sin.store-quota: store-quota comes with a later version; write nothing here, and store: {quota: 500GiB} in that site's router file`},
		{"a password", sites + "  sin: {password: hunter2}\n", "t:5:9: sites.sin.password: unknown key \"password\"; write one of listen, labels\n" +
			"t:5:19: sites.sin.password: a secret does not belong in this file; write file:/path or env:NAME where this file knows the key"},
		// links
		{"a link to an unknown site", sites + "links:\n  - between: [ams, nyx]\n", `t:6:20: links[0].between[1]: there is no site "nyx"; write nyc`},
		{"a link of three", sites + "links:\n  - between: [ams, nyc, edge]\n", `t:6:14: links[0].between: a link is between two sites; write between: [ams, nyc]`},
		{"a link to itself", sites + "links:\n  - between: [ams, ams]\n", `t:6:14: links[0].between: ams is linked with itself; write two different sites`},
		{"a link twice", sites + "links:\n  - between: [ams, nyc]\n  - between: [nyc, ams]\n", `t:7:14: links[1].between: ams and nyc are already linked by links[0]; write one link for the two`},
		{"a link that nobody can dial", sites + "  sin: {}\nlinks:\n  - between: [sin, edge]\n", `t:7:14: links[0].between: neither sin nor edge listens; write listen: [host:port] at sin or edge`},
		{"a bandwidth without unit", sites + "links:\n  - {between: [ams, nyc], bandwidth: 400}\n", `t:6:38: links[0].bandwidth: the bandwidth "400" has no unit; write 400Mbit or 10Gbit (bits per second)`},
		{"a negative cost", sites + "links:\n  - {between: [ams, nyc], cost: -1}\n", `t:6:33: links[0].cost: cost -1 is not from 0 to 1048576; write 10`},
		{"tcp", sites + "links:\n  - {between: [ams, nyc], transport: [quic, tcp]}\n", `t:6:45: links[0].transport[1]: tcp comes with a later version; write transport: [quic]`},
		{"classes of a link", sites + "links:\n  - {between: [ams, nyc], classes: {bulk: {}}}\n", `t:6:27: links[0].classes: classes comes with a later version; write nothing here: all classes share the link by their order`},
		// classes
		{"a class with settings", sites + "classes:\n  bulk: {weight: 1}\n", `t:6:10: classes.bulk.weight: weight comes with a later version; write the class without settings`},
		{"an unknown class", route(from + to + "    class: urgnt\n"), `t:9:12: routes.orders.class: there is no class "urgnt"; write urgent`},
		// routes: from
		{"a bad route name", sites + "routes:\n  Orders:\n" + from + to, `t:6:3: routes.Orders: "Orders" is not a valid name of a route; write 1 to 63 of a-z, 0-9 and -`},
		{"a bad route id", route("    id: a.b\n" + from + to), `t:7:9: routes.orders.id: "a.b" is not a valid name of a route id; write 1 to 63 of a-z, 0-9 and -`},
		{"an id twice", route(from+to) + "  other:\n    id: orders\n" + from + to, `t:10:9: routes.other.id: route orders has the id "orders" too; write an id of its own`},
		{"no from", route(to), `t:6:3: routes.orders.from: the route takes nothing; write from: {site: ams, exchange: orders, keys: ["#"]}`},
		{"from nowhere", route("    from: {exchange: orders, keys: ['#']}\n" + to), `t:7:11: routes.orders.from: a route starts at one site or at the sites that have some labels; write site: ams, or sites: {region: eu}`},
		{"from an unknown site", route("    from: {site: asm, exchange: orders, keys: ['#']}\n" + to), `t:7:18: routes.orders.from.site: there is no site "asm"; write ams`},
		{"from no selected site", route("    from: {sites: {region: mars}, queue: q}\n" + to), `t:7:19: routes.orders.from.sites: no site is selected; write labels that a site has`},
		{"neither exchange nor queue", route("    from: {site: ams}\n" + to), `t:7:11: routes.orders.from: a route takes from an exchange or from a queue; write exchange: orders and keys: ["#"], or queue: orders`},
		{"no keys", route("    from: {site: ams, exchange: orders}\n" + to), `t:7:5: routes.orders.from.keys: the binding patterns are missing; write keys: ["#"] for everything of a topic exchange, [""] for a fanout exchange`},
		{"a key twice", route("    from: {site: ams, exchange: orders, keys: [a, a]}\n" + to), `t:7:51: routes.orders.from.keys[1]: the key "a" stands here twice; write it once`},
		{"keys of a queue", route("    from: {site: ams, queue: q, keys: [a]}\n" + to), `t:7:39: routes.orders.from.keys: keys bind to an exchange, a queue has none; write exchange instead of queue`},
		{"the default exchange", route("    from: {site: ams, exchange: '', keys: [a]}\n" + to), `t:7:33: routes.orders.from.exchange: nothing can be bound to the default exchange; write queue: with the name of the queue`},
		{"the addressed exchange", route("    from: {site: ams, exchange: cloudqueue, keys: [a]}\n" + to), `t:7:33: routes.orders.from.exchange: the addressed exchange (cq-to) comes with a later version; write a route for each destination`},
		{"cq-to", route("    from: {site: ams, queue: q, cq-to: true}\n" + to), `t:7:33: routes.orders.from.cq-to: cq-to comes with a later version; write a route for each destination`},
		{"a bad exchange type", route("    from: {site: ams, exchange: o, keys: [a], declare: {type: topc}}\n" + to), `t:7:63: routes.orders.from.declare.type: "topc" is not a type of an exchange; write one of direct, fanout, topic, headers`},
		{"a queue of the router", route("    from: {site: ams, queue: cq.out.x}\n" + to), `t:7:30: routes.orders.from.queue: queues named cq.… belong to the router; write another queue`},
		{"a queue of two routes", route("    from: {site: ams, queue: q}\n"+to) + "  other:\n    from: {site: ams, queue: q}\n" + to, `t:10:30: routes.other.from.queue: route orders drains the queue "q" at ams already; write one route with both sets of destinations`},
		{"a long exchange", route("    from: {site: ams, exchange: " + strings.Repeat("x", 256) + ", keys: [a]}\n" + to), `t:7:33: routes.orders.from.exchange: the exchange has 256 bytes, more than AMQP takes; write at most 255 bytes`},
		// routes: to
		{"to nowhere", route(from), `t:6:3: routes.orders.to: the route goes nowhere; write to: [{site: nyc}]`},
		{"to an unknown site", route(from + "    to: [{site: nyx}]\n"), `t:8:17: routes.orders.to[0].site: there is no site "nyx"; write nyc`},
		{"to the origin", route(from + "    to: [{site: ams}]\n"), `t:8:17: routes.orders.to[0].site: the route starts at ams and ends there; write another site`},
		{"to a site that is not linked", route(from+"    to: [{site: nyc}]\n") + "links:\n  - between: [ams, edge]\n", `t:8:17: routes.orders.to[0].site: no link goes from ams to nyc, and forwarding through another site comes with a later version; write {between: [ams, nyc]} under links`},
		{"against a one-way link", route(from+to) + "links:\n  - {between: [nyc, ams], one-way: true}\n", `t:8:17: routes.orders.to[0].site: no link goes from ams to nyc, and forwarding through another site comes with a later version; write {between: [ams, nyc]} under links`},
		{"a destination without site", route(from + "    to: [{queue: q}]\n"), `t:8:10: routes.orders.to[0].site: the destination has no site; write {site: nyc}`},
		{"a destination twice", route(from + "    to: [{site: nyc}, {site: nyc}]\n"), `t:8:23: routes.orders.to[1]: this is the same destination as to[0]; write it once, or a queue or an exchange of its own`},
		{"queue and exchange", route(from + "    to: [{site: nyc, queue: q, exchange: e}]\n"), `t:8:10: routes.orders.to[0]: a destination is a queue or an exchange, not both; write queue alone, or exchange and routing-key`},
		{"a number of a plain destination", route(from + "    to: [{site: nyc, target: 1}]\n"), `t:8:30: routes.orders.to[0].target: a destination with the same exchange and key is target 0; write target: 0, or nothing`},
		{"a number twice", route(from + "    to: [{site: nyc, queue: a, target: 1}, {site: nyc, queue: b, target: 1}]\n"), `t:8:74: routes.orders.to[1].target: target 1 stands here twice; write a number of its own, never one that the route had before`},
		{"a large number", route(from + "    to: [{site: nyc, queue: a, target: 256}]\n"), `t:8:40: routes.orders.to[0].target: 256 is not a number of a mapped destination; write target: 1 to 255`},
		// routes: how
		{"an unknown order", route(from + to + "    order: total\n"), `t:9:12: routes.orders.order: "total" is not known here; write strict`},
		{"on-unroutable", route(from + to + "    on-unroutable: drop\n"), `t:9:20: routes.orders.on-unroutable: "drop" is not known here; write park or hold`},
		{"on-missing-exchange", route(from + to + "    on-missing-exchange: park\n"), `t:9:26: routes.orders.on-missing-exchange: "park" is not a way to treat a missing exchange; write hold or {declare: {type: topic}}`},
		{"on-missing-exchange with a bad type", route(from + to + "    on-missing-exchange: {declare: {type: x}}\n"), `t:9:43: routes.orders.on-missing-exchange.declare.type: "x" is not a type of an exchange; write one of direct, fanout, topic, headers`},
		{"a large max-message-size", route(from + to + "    max-message-size: 16MiB\n"), `t:9:23: routes.orders.max-message-size: 16MiB is not a size of a message in this version; write 1B to 15MiB`},
		{"max-hops", route(from + to + "    max-hops: 0\n"), `t:9:15: routes.orders.max-hops: 0 is not a number of hops; write 1 to 32`},
		{"a bool in words", route(from + to + "    trust-user-id: yes\n"), `t:9:20: routes.orders.trust-user-id: "yes" is neither true nor false; write true or false`},
		{"shards", route(from + to + "    shards: 4\n"), `t:9:13: routes.orders.shards: more than one shard comes with a later version; write shards: 1, or several routes with keys of their own`},
		{"message-ttl", route(from + to + "    message-ttl: 6h\n"), `t:9:18: routes.orders.message-ttl: message-ttl comes with a later version; write the expiration property of the messages`},
		{"on-expired", route(from + to + "    on-expired: park\n"), `t:9:5: routes.orders.on-expired: on-expired comes with a later version; write the expiration property of the messages`},
		// YAML
		{"an anchor", sites + "routes: &r {}\n", `t:5:9: anchors, aliases and merge keys are not part of this format; write the value out in full`},
		{"no YAML", "sites: {ams: [}", `t:1:15: no YAML: could not find '{' character corresponding to '}'; write key: value, indented with spaces, and the end of every bracket and quote`},
		{"an empty file", "", `t:1:1: sites: a topology needs two sites, there are 0; write sites: {ams: {listen: [ams.example.net:7443]}, nyc: {}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := topology.Parse("t", []byte(c.src))

			if err == nil {
				t.Fatalf("no error, want\n%s", c.want)
			}
			if diff := cmp.Diff(strings.Split(c.want, "\n"), strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTellsAllMistakesOfADocumentAtOnceInItsOrder(t *testing.T) {
	src := sites + `
links:
  - {between: [ams, nyc], cots: 4}
routes:
  a:
    from: {site: ams, exchange: [orders], keys: ["#"]}
    to: [{site: mars}]
  b:
    form: {site: ams}
    to: [{site: nyc}]
`
	_, err := topology.Parse("t", []byte(src))

	want := []string{
		`t:7:27: links[0].cots: unknown key "cots"; write cost`,
		`t:10:33: routes.a.from.exchange: a single value is wanted here, there is a list; write one value`,
		`t:11:17: routes.a.to[0].site: there is no site "mars"; write a name that stands under sites`,
		`t:12:3: routes.b.from: the route takes nothing; write from: {site: ams, exchange: orders, keys: ["#"]}`,
		`t:13:5: routes.b.form: unknown key "form"; write from`,
	}
	if diff := cmp.Diff(want, strings.Split(fmt.Sprint(err), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
