package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// compareRoutes compares lanes: a route with one id at one origin. A new name alone is a rename.
func (c *comparison) compareRoutes() {
	eachPair(c.old.routes, c.new.routes, func(r Route) string { return r.Lane.String() },
		func(name string, old, new *Route) {
			switch {
			case old == nil:
				c.change(Added, "route", name)
				c.routeAppears(new)
			case new == nil:
				c.removed("route", name, "route %s: what is sealed drains to %s; what is still in its queue %s %s", name,
					destinationText(old.Destinations), old.Source.Queue, remains(old.Source))
				c.routeGoes(old)
			default:
				c.changedRoute(name, old, new)
			}
		})
	c.noteRenames()
}

func (c *comparison) routeAppears(r *Route) {
	at := r.Lane.Origin
	if r.Source.Exchange != "" {
		if r.Source.Declare != "" {
			c.do(at, "declares the %s exchange %s if it is missing", r.Source.Declare, r.Source.Exchange)
		}
		c.do(at, "declares the queue %s and binds it to the exchange %s by %s", r.Source.Queue, r.Source.Exchange,
			strings.Join(r.Source.Keys, ", "))
	}
	c.do(at, "takes from the queue %s and sends to %s", r.Source.Queue, destinationText(r.Destinations))
	for _, d := range r.Destinations {
		c.do(d.Site, "accepts %s and publishes %s", r.Lane, d.whereText())
	}
}

func (c *comparison) routeGoes(r *Route) {
	if _, stays := c.new.Site(r.Lane.Origin); stays {
		if r.Source.Exchange != "" {
			c.do(r.Lane.Origin, "unbinds the queue %s, takes what is still in it, and keeps it", r.Source.Queue)
		} else {
			c.do(r.Lane.Origin, "stops taking from the queue %s", r.Source.Queue)
		}
		c.do(r.Lane.Origin, "sends what is sealed for %s until its receipts are there", destinationText(r.Destinations))
	}
}

// remains tells what becomes of the messages in a queue whose route is gone: the router's own is drained.
func remains(s federation.Source) string {
	if s.Exchange != "" {
		return "drains too"
	}
	return "stays there"
}

func destinationText(all []RouteDestination) string {
	parts := make([]string, len(all))
	for i, d := range all {
		parts[i] = d.describe()
		if d.Target != 0 {
			parts[i] += fmt.Sprintf(" (target %d)", d.Target)
		}
	}
	return strings.Join(parts, ", ")
}

func (d RouteDestination) whereText() string {
	switch {
	case d.Queue != "":
		return "into the queue " + d.Queue
	case d.Exchange != nil && d.RoutingKey != nil:
		return fmt.Sprintf("to the exchange %s with the key %s", *d.Exchange, *d.RoutingKey)
	case d.Exchange != nil:
		return "to the exchange " + *d.Exchange
	case d.RoutingKey != nil:
		return "to the same exchange with the key " + *d.RoutingKey
	}
	return "to the same exchange with the same key"
}

func (c *comparison) changedRoute(name string, old, new *Route) {
	fields := changedFields(
		Field{"name", old.Name, new.Name},
		Field{"from", "the " + old.Source.String(), "the " + new.Source.String()},
		Field{"keys", strings.Join(old.Source.Keys, ", "), strings.Join(new.Source.Keys, ", ")},
		Field{"declare", old.Source.Declare, new.Source.Declare},
		Field{"to", destinationSet(old.Destinations), destinationSet(new.Destinations)},
		Field{"class", old.Class, new.Class},
		Field{"order", orderText(old.Strict), orderText(new.Strict)},
		Field{"max-message-size", yamlfile.Size(old.MaxMessageSize).String(),
			yamlfile.Size(new.MaxMessageSize).String()},
		Field{"max-hops", strconv.Itoa(old.MaxHops), strconv.Itoa(new.MaxHops)},
		Field{"on-unroutable", old.OnUnroutable, new.OnUnroutable},
		Field{"on-missing-exchange", old.OnMissingExchange.String(), new.OnMissingExchange.String()},
		Field{"trust-user-id", strconv.FormatBool(old.TrustUserID), strconv.FormatBool(new.TrustUserID)})
	if len(fields) == 0 {
		return
	}
	c.change(Changed, "route", name, fields...)
	for _, f := range fields {
		c.changedField(name, old, new, f)
	}
}

// changedField tells what the sites do about one field.
func (c *comparison) changedField(name string, old, new *Route, f Field) {
	origin := new.Lane.Origin
	switch f.Key {
	case "to":
		c.plan.Refused = append(c.plan.Refused, fmt.Sprintf(
			"route %s: its destinations (%s) cannot become %s: edits of the set come with a later version; "+
				"write a second route with an id of its own for what is new", name, f.Old, f.New))
	case "from":
		c.do(origin, "takes %s from %s instead of %s", name, f.New, f.Old)
		if old.Source.Exchange != "" && new.Source.Exchange == "" {
			c.do(origin, "unbinds the queue %s and keeps it", old.Source.Queue)
			c.plan.Strands = append(c.plan.Strands,
				fmt.Sprintf("route %s: what is still in its queue %s stays there", name, old.Source.Queue))
		}
	case "keys":
		c.changedKeys(old.Source, new.Source, origin)
	case "on-unroutable", "on-missing-exchange", "trust-user-id":
		for _, d := range new.Destinations {
			c.do(d.Site, "treats %s with %s %s", name, f.Key, f.New)
		}
	case "name":
	default:
		c.do(origin, "takes %s with %s %s", name, f.Key, cmp.Or(f.New, "none"))
	}
}

func (c *comparison) changedKeys(old, new federation.Source, origin federation.SiteID) {
	if old.Exchange == "" || new.Exchange == "" {
		return
	}
	if added := missing(new.Keys, old.Keys); len(added) > 0 {
		c.do(origin, "binds the queue %s to the exchange %s by %s", new.Queue, new.Exchange, strings.Join(added, ", "))
	}
	if gone := missing(old.Keys, new.Keys); len(gone) > 0 {
		c.do(origin, "then unbinds %s from the queue %s", strings.Join(gone, ", "), old.Queue)
	}
}

// missing gives the members of a that b has not.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// destinationSet is the same for two orders of one set.
func destinationSet(all []RouteDestination) string {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b RouteDestination) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Target, b.Target),
			cmp.Compare(a.mapping(), b.mapping()))
	})
	return destinationText(sorted)
}

func orderText(strict bool) string {
	if strict {
		return "strict"
	}
	return ""
}

// String gives what stands in the document.
func (m MissingExchange) String() string {
	if m.Declare == "" {
		return "hold"
	}
	return "declare " + m.Declare
}

// noteRenames finds routes that were renamed without keeping their id: the old lane strands and a new one begins.
func (c *comparison) noteRenames() {
	fresh := lanesMissingIn(c.old, c.new.routes)
	for _, old := range lanesMissingIn(c.new, c.old.routes) {
		i := slices.IndexFunc(fresh, func(r Route) bool { return looksRenamed(old, r) })
		if i >= 0 {
			c.plan.Notes = append(c.plan.Notes, fmt.Sprintf(
				"%s goes and %s comes with the same source: if this is a rename, write `id: %s` in route %s", old.Lane,
				fresh[i].Lane, old.ID, fresh[i].Name))
		}
	}
}

func lanesMissingIn(d *Document, routes []Route) []Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool { return hasLane(d, r.Lane) })
}

func hasLane(d *Document, lane federation.Lane) bool {
	_, found := slices.BinarySearchFunc(d.routes, lane, compareLane)
	return found
}

func looksRenamed(old, new Route) bool {
	return old.Lane.Origin == new.Lane.Origin && old.Source.String() == new.Source.String() &&
		slices.Equal(old.Source.Keys, new.Source.Keys)
}
