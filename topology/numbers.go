package topology

import (
	"cmp"
	"fmt"
	"slices"

	"cloudqueue/federation"
)

// Numbers are the destinations of every route that there ever was, with their target numbers. A number names a
// destination in batches, journals and receipts, so it is kept when the route is written in another order, when the
// route is removed, and when it comes back.
//
// They are kept beside the document in etcd. A plain file has no such place: there `target` in the document, or else
// the order of the mapped destinations, gives the number (see number), and a change that would give another one is
// refused.
type Numbers map[federation.RouteID][]Number

// Number is one destination of a route.
type Number struct {
	Site       federation.SiteID `json:"site"`
	Target     uint8             `json:"target"`
	Exchange   *string           `json:"exchange,omitempty"`
	RoutingKey *string           `json:"routing-key,omitempty"`
	Queue      string            `json:"queue,omitempty"`
}

func (n Number) destination() RouteDestination {
	return RouteDestination{Destination: federation.Destination{Site: n.Site, Target: n.Target}, Exchange: n.Exchange,
		RoutingKey: n.RoutingKey, Queue: n.Queue}
}

func newNumber(d RouteDestination) Number {
	return Number{Site: d.Site, Target: d.Target, Exchange: d.Exchange, RoutingKey: d.RoutingKey, Queue: d.Queue}
}

// Numbers gives the numbers of the document's own routes.
func (d *Document) Numbers() Numbers {
	all := make(Numbers, len(d.targets))
	for id, targets := range d.targets {
		all[id] = numbersOf(targets)
	}
	return all
}

// WithNumbers gives the document with the numbers that its routes had before, and all numbers together. The error is
// Problems: a route that is known with other destinations (their set cannot be edited in this version), a `target` that
// differs from the known number.
func (d *Document) WithNumbers(known Numbers) (*Document, Numbers, error) {
	all := make(Numbers, len(known))
	for id, numbers := range known {
		all[id] = numbers
	}
	renumbered := *d
	renumbered.targets = make(map[federation.RouteID][]target, len(d.targets))
	var problems Problems
	for id, targets := range d.targets {
		kept, found := renumber(d.name, id, targets, known[id])
		problems = append(problems, found...)
		renumbered.targets[id] = kept
		all[id] = numbersOf(kept)
	}
	if len(problems) > 0 {
		return nil, nil, problems.Sort()
	}
	renumbered.routes = renumbered.renumberRoutes()
	renumbered.numbers = all
	return &renumbered, all, nil
}

// target is a destination as the document has it, before any origin is left out.
type target struct {
	RouteDestination
	explicit bool    // the document says its number
	at       Problem // its place in the file
}

func renumber(name string, id federation.RouteID, targets []target, known []Number) ([]target, Problems) {
	if known == nil {
		return targets, nil
	}
	before := make(map[string]Number, len(known))
	for _, n := range known {
		before[n.destination().mapping()] = n
	}
	var problems Problems
	kept := slices.Clone(targets)
	for i := range kept {
		n, ok := before[kept[i].mapping()]
		switch {
		case !ok:
			problems = append(problems, kept[i].problem("a new route with an id of its own for it",
				"the route id %q is known without this destination, and edits of the set come with a later version",
				id))
		case kept[i].explicit && kept[i].Target != n.Target:
			problems = append(problems, kept[i].problem(
				fmt.Sprintf("target: %d", n.Target), "this destination has the number %d for ever", n.Target))
		}
		kept[i].Target = n.Target
		delete(before, kept[i].mapping())
	}
	for _, n := range before {
		where := Problem{File: name, Path: "routes"}
		if len(kept) > 0 {
			where = kept[0].at
		}
		where.What = fmt.Sprintf("the route id %q is known with the destination %s too, "+
			"and edits of the set come with a later version", id, n.destination().describe())
		where.Write = "the destination, or a new route with an id of its own"
		problems = append(problems, where)
	}
	return kept, problems
}

func (t target) problem(write, what string, args ...any) Problem {
	p := t.at
	p.What, p.Write = fmt.Sprintf(what, args...), write
	return p
}

func numbersOf(targets []target) []Number {
	numbers := make([]Number, len(targets))
	for i, t := range targets {
		numbers[i] = newNumber(t.RouteDestination)
	}
	slices.SortFunc(numbers, func(a, b Number) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Target, b.Target))
	})
	return numbers
}

// renumberRoutes gives the routes with the numbers of d.targets.
func (d *Document) renumberRoutes() []Route {
	routes := slices.Clone(d.routes)
	for i := range routes {
		routes[i].Destinations = destinationsOf(d.targets[routes[i].ID], routes[i].Lane.Origin)
		routes[i].Digest = routes[i].digest()
	}
	return routes
}

func destinationsOf(targets []target, origin federation.SiteID) []RouteDestination {
	var all []RouteDestination
	for _, t := range targets {
		if t.Site != origin {
			all = append(all, t.RouteDestination)
		}
	}
	return all
}

// describe gives "nyc", "sin exchange orders-eu" or "edge-1 queue orders-in".
func (d RouteDestination) describe() string {
	text := string(d.Site)
	if d.Exchange != nil {
		text += " exchange " + *d.Exchange
	}
	if d.RoutingKey != nil {
		text += " routing key " + *d.RoutingKey
	}
	if d.Queue != "" {
		text += " queue " + d.Queue
	}
	return text
}
