package topology_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

func numbersOf(d *topology.Document) string {
	var all []string
	for _, to := range d.Routes()[0].Destinations {
		all = append(all, to.String())
	}
	return strings.Join(all, " ")
}

// renumber parses a route with these destinations as the next document.
func renumber(t *testing.T, known topology.Numbers, to string) (string, topology.Numbers, error) {
	t.Helper()
	d, numbers, err := parse(t, route(from+"    to: "+to+"\n")).WithNumbers(known)
	if err != nil {
		return "", nil, err
	}
	return numbersOf(d), numbers, nil
}

func TestMappedDestinationsAreNumberedInTheOrderOfTheFile(t *testing.T) {
	for to, want := range map[string]string{
		"[{site: nyc}]":                        "nyc",
		"[{site: nyc, queue: a}]":              "nyc:1",
		"[{site: nyc, queue: a}, {site: nyc}]": "nyc:1 nyc",
		"[{site: edge, queue: a}, {site: nyc}, {site: nyc, exchange: b}]":                                   "edge:1 nyc nyc:2",
		"[{site: nyc, queue: a, target: 2}, {site: nyc, queue: b}, {site: nyc, queue: c}]":                  "nyc:2 nyc:1 nyc:3",
		"[{site: nyc, queue: a, target: 255}, {site: nyc, routing-key: b}, {site: nyc, target: 0}]":         "nyc:255 nyc:1 nyc",
		"[{site: nyc, exchange: e, routing-key: k}, {site: nyc, exchange: e}, {site: nyc, routing-key: k}]": "nyc:1 nyc:2 nyc:3",
	} {
		if got := numbersOf(parse(t, route(from+"    to: "+to+"\n"))); got != want {
			t.Errorf("to: %s: numbers %s, want %s", to, got, want)
		}
	}
}

func TestNumbersStayWhenTheOrderOfTheFileChanges(t *testing.T) {
	_, known, err := renumber(t, nil, "[{site: nyc, queue: a}, {site: nyc, queue: b}, {site: edge}]")
	if err != nil {
		t.Fatal(err)
	}
	got, after, err := renumber(t, known, "[{site: edge}, {site: nyc, queue: b}, {site: nyc, queue: a}]")

	if want := "edge nyc:2 nyc:1"; err != nil || got != want {
		t.Errorf("numbers after a new order: %s, %v; want %s", got, err, want)
	}
	if diff := cmp.Diff(known, after); diff != "" {
		t.Errorf("what is kept changed (-before +after):\n%s", diff)
	}
}

func TestNumbersOutliveTheirRoute(t *testing.T) {
	_, known, err := renumber(t, nil, "[{site: nyc, queue: a}]")
	if err != nil {
		t.Fatal(err)
	}
	_, kept, err := parse(t, sites).WithNumbers(known)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = renumber(t, kept, "[{site: nyc, queue: b}]")

	want := `t:8:10: routes.orders.to[0]: the route id "orders" is known with the destination nyc queue a too, and edits of the set come with a later version; write the destination, or a new route with an id of its own
t:8:10: routes.orders.to[0]: the route id "orders" is known without this destination, and edits of the set come with a later version; write a new route with an id of its own for it`
	if err == nil || err.Error() != want {
		t.Errorf("the route came back with another destination: %v\nwant %s", err, want)
	}
	if got, _, err := renumber(t, kept, "[{site: nyc, queue: a}]"); err != nil || got != "nyc:1" {
		t.Errorf("the route came back: numbers %s, %v; want nyc:1", got, err)
	}
}

func TestTargetMayNotContradictAKnownNumber(t *testing.T) {
	_, known, err := renumber(t, nil, "[{site: nyc, queue: a}]")
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = renumber(t, known, "[{site: nyc, queue: a, target: 7}]")

	want := "t:8:10: routes.orders.to[0]: this destination has the number 1 for ever; write target: 1"
	if err == nil || err.Error() != want {
		t.Errorf("another target: %v\nwant %s", err, want)
	}
}
