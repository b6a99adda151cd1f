package topology_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

// describe writes a plan as lines.
func describe(p *topology.Plan) []string {
	var lines []string
	for _, c := range p.Changes {
		lines = append(lines, fmt.Sprintf("%s %s %s", c.Action, c.Object, c.Name))
		for _, f := range c.Fields {
			lines = append(lines, fmt.Sprintf("  %s: %q to %q", f.Key, f.Old, f.New))
		}
	}
	for _, s := range p.Sites {
		for _, d := range s.Does {
			lines = append(lines, fmt.Sprintf("%s: %s", s.Site, d))
		}
	}
	for _, s := range p.Strands {
		lines = append(lines, "strands: "+s)
	}
	for _, s := range p.Refused {
		lines = append(lines, "refused: "+s)
	}
	for _, s := range p.Notes {
		lines = append(lines, "note: "+s)
	}
	return lines
}

const linked = "links:\n  - between: [ams, nyc]\n"

func TestPlanTellsWhatChangesAndWhatEachSiteDoes(t *testing.T) {
	base := route(from + to)
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", base, "# a comment changes nothing\n" + base, ""},
		{"the first document", "", route(from+to) + linked, `
added site ams
added site edge
added site nyc
added link ams–nyc
added route ams/orders
ams: dials nyc at nyc.example.net:7443
ams: declares the queue cq.out.orders and binds it to the exchange orders by #
ams: takes from the queue cq.out.orders and sends to nyc
nyc: dials ams at ams.example.net:7443
nyc: accepts ams/orders and publishes to the same exchange with the same key`},
		{"a site comes and goes", strings.Replace(base, "edge", "rim", 1), base, `
added site edge
removed site rim
rim: keeps its last good topology: stop it when its store is empty
strands: site rim: what its store and its queues hold for other sites, and what they hold for it, stays where it is`},
		{"a site changes", base, strings.Replace(base, "{listen: [ams.example.net:7443]", "{listen: [a:1]", 1), `
changed site ams
  listen: "ams.example.net:7443" to "a:1"
edge: dials ams at a:1 from its next connection on
nyc: dials ams at a:1 from its next connection on`},
		{"links are listed", base, base + linked, `
changed link all
  links: "every pair that can reach each other" to "those of the document"
removed link ams–edge
removed link edge–nyc
ams: drains its link to edge and closes it
edge: drains its link to ams and closes it
edge: drains its link to nyc and closes it
nyc: drains its link to edge and closes it
strands: link ams–edge: batches that are stored for its other end cannot leave
strands: link edge–nyc: batches that are stored for its other end cannot leave`},
		{"links are not listed any more", base + linked, base, `
changed link all
  links: "those of the document" to "every pair that can reach each other"
added link ams–edge
added link edge–nyc
ams: accepts connections of edge
edge: dials ams at ams.example.net:7443
edge: dials nyc at nyc.example.net:7443
nyc: accepts connections of edge`},
		{"a link comes and one goes", base + linked + "  - between: [ams, edge]\n", base + linked + "  - between: [nyc, edge]\n", `
removed link ams–edge
added link edge–nyc
ams: drains its link to edge and closes it
edge: drains its link to ams and closes it
edge: dials nyc at nyc.example.net:7443
nyc: accepts connections of edge
strands: link ams–edge: batches that are stored for its other end cannot leave`},
		{"a link changes", base + linked, base + "links:\n  - {between: [ams, nyc], one-way: true, bandwidth: 1Mbit, cost: 2}\n", `
changed link ams–nyc
  direction: "both ways" to "ams to nyc"
  bandwidth: "" to "1Mbit"
  cost: "0" to "2"`},
		{"keys change", base, strings.Replace(base, "['#']", "[a, b]", 1), `
changed route ams/orders
  keys: "#" to "a, b"
ams: binds the queue cq.out.orders to the exchange orders by a, b
ams: then unbinds # from the queue cq.out.orders`},
		{"the source changes", base, strings.Replace(base, "exchange: orders, keys: ['#']", "queue: q", 1), `
changed route ams/orders
  from: "the exchange orders" to "the queue q"
  keys: "#" to ""
ams: takes ams/orders from the queue q instead of the exchange orders
ams: unbinds the queue cq.out.orders and keeps it
strands: route ams/orders: what is still in its queue cq.out.orders stays there`},
		{"how it is treated changes", base, base + "    class: bulk\n    order: strict\n    on-unroutable: hold\n", `
changed route ams/orders
  class: "normal" to "bulk"
  order: "" to "strict"
  on-unroutable: "park" to "hold"
ams: takes ams/orders with class bulk
ams: takes ams/orders with order strict
nyc: treats ams/orders with on-unroutable hold`},
		{"a rename with the id kept", base, sites + "routes:\n  fresh:\n    id: orders\n" + from + to, `
changed route ams/orders
  name: "orders" to "fresh"`},
		{"a rename without the id", base, sites + "routes:\n  fresh:\n" + from + to, `
added route ams/fresh
removed route ams/orders
ams: declares the queue cq.out.fresh and binds it to the exchange orders by #
ams: takes from the queue cq.out.fresh and sends to nyc
ams: unbinds the queue cq.out.orders, takes what is still in it, and keeps it
ams: sends what is sealed for nyc until its receipts are there
nyc: accepts ams/fresh and publishes to the same exchange with the same key
strands: route ams/orders: what is sealed drains to nyc; what is still in its queue cq.out.orders drains too
note: ams/orders goes and ams/fresh comes with the same source: if this is a rename, write ` + "`id: orders`" + ` in route fresh`},
		{"the destinations change", base, route(from + "    to: [{site: nyc}, {site: edge, queue: q}]\n"), `
changed route ams/orders
  to: "nyc" to "edge queue q (target 1), nyc"
refused: route ams/orders: its destinations (nyc) cannot become edge queue q (target 1), nyc: edits of the set come with a later version; write a second route with an id of its own for what is new`},
		{"the numbers change", route(from + "    to: [{site: nyc, queue: a}, {site: nyc, queue: b}]\n"), route(from + "    to: [{site: nyc, queue: b}, {site: nyc, queue: a}]\n"), `
changed route ams/orders
  to: "nyc queue a (target 1), nyc queue b (target 2)" to "nyc queue b (target 1), nyc queue a (target 2)"
refused: route ams/orders: its destinations (nyc queue a (target 1), nyc queue b (target 2)) cannot become nyc queue b (target 1), nyc queue a (target 2): edits of the set come with a later version; write a second route with an id of its own for what is new`},
		{"the order of the destinations alone", route(from + "    to: [{site: nyc}, {site: edge}]\n"), route(from + "    to: [{site: edge}, {site: nyc}]\n"), ""},
		{"the federation", base, base + "federation: other\n", `
changed federation other
  federation: "cloudqueue" to "other"
refused: federation cloudqueue cannot become other: its name is in every certificate; start a second one`},
		{"a class comes", base, base + "classes: {gold: {}}\n", "\nadded class gold"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var old *topology.Document
			if c.old != "" {
				old = parse(t, c.old)
			}
			got := describe(topology.MakePlan(old, parse(t, c.new)))

			want := strings.Split(strings.TrimPrefix(c.want, "\n"), "\n")
			if c.want == "" {
				want = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanNeedsAnExplicitWordForWhatStrands(t *testing.T) {
	two := route(from+to) + "  other:\n    from: {site: ams, queue: q}\n" + to
	many := two + "  third:\n    from: {site: ams, queue: r}\n" + to + "  fourth:\n    from: {site: ams, queue: s}\n" + to
	renamed := strings.Replace(two, "  other:", "  fresh:", 1)
	digest := fmt.Sprintf("%x", parse(t, two).Digest())
	for _, c := range []struct {
		name     string
		old, new string
		accept   topology.Accept
		want     error
	}{
		{"nothing goes", two, many, topology.Accept{}, nil},
		{"a route goes", two, route(from + to), topology.Accept{}, topology.ErrStrands},
		{"a route goes with the word", two, route(from + to), topology.Accept{Stranding: true}, nil},
		{"a route goes and another comes", two, renamed, topology.Accept{}, topology.ErrStrands},
		{"three of seven objects go", many, route(from + to), topology.Accept{Stranding: true}, topology.ErrMassRemoval},
		{"three of seven objects go with both words", many, route(from + to), topology.Accept{Stranding: true, MassRemoval: true}, nil},
		{"the word in the document", two, route(from+to) + "accept-stranding: [" + digest[:12] + "]\n", topology.Accept{}, nil},
		{"the word for another document", many, route(from+to) + "accept-stranding: [" + digest[:12] + "]\n", topology.Accept{}, topology.ErrStrands},
		{"no word helps", two, two + "federation: x\n", topology.Accept{Stranding: true, MassRemoval: true}, topology.ErrRefused},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := topology.MakePlan(parse(t, c.old), parse(t, c.new)).Check(c.accept)
			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("Check gave %v, want %v", err, c.want)
			}
		})
	}
}
