package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// Limits of routes.
const (
	maxKeys  = 1000    // binding patterns of a route (chosen: one declare-and-bind round of a few seconds)
	maxLanes = 100_000 // routes times origins
	// MaxMessageSize is the largest and the default max-message-size: a message goes into one batch, whose raw bytes
	// are limited, with its own head and what the router adds to its properties; larger ones need fragments.
	MaxMessageSize = federation.MaxRawBatch - 1<<20
	defaultMaxHops = 8 // chosen: more re-entries than any sane chain of routes, few enough to end a loop soon
)

// builtinClasses are the classes by index; those of the document follow by name.
var builtinClasses = [...]string{"urgent", "normal", "bulk"}

const (
	defaultClass = "normal"
	maxClasses   = 16 // chosen: each has streams of its own on every connection
)

func (b *builder) addClasses() {
	b.doc.classes = append(b.doc.classes, builtinClasses[:]...)
	for _, name := range sortedKeys(b.in.Classes) {
		if b.checkKeyName("classes."+name, "class", name) && !slices.Contains(builtinClasses[:], name) {
			b.doc.classes = append(b.doc.classes, name)
		}
	}
	if len(b.doc.classes) > maxClasses {
		b.file.Report("classes", "", "%d classes with the built-in ones, the limit is %d", len(b.doc.classes),
			maxClasses)
	}
}

func (b *builder) addRoutes() {
	ids := map[string]string{}
	b.doc.targets = map[federation.RouteID][]target{}
	for _, name := range sortedKeys(b.in.Routes) {
		in := b.in.Routes[name]
		path := "routes." + name
		b.checkKeyName(path, "route", name)
		id := cmp.Or(in.ID, name)
		if in.ID != "" {
			b.checkName(path+".id", "route id", id)
		}
		if other, taken := ids[id]; taken {
			b.file.Report(path+".id", "an id of its own", "route %s has the id %q too", other, id)
		}
		ids[id] = name
		b.addRoute(path, name, id, in)
	}
	slices.SortFunc(b.doc.routes, func(x, y Route) int {
		return cmp.Or(cmp.Compare(x.Lane.Origin, y.Lane.Origin), cmp.Compare(x.ID, y.ID))
	})
	b.checkSharedQueues()
}

// addRoute adds the route once for each of its origins.
func (b *builder) addRoute(path, name, id string, in routeSchema) {
	route := Route{ID: federation.RouteID(id), Name: name, Strict: in.Order == "strict", TrustUserID: in.TrustUserID}
	if !b.file.Has(path + ".from") {
		b.file.Report(path+".from", `from: {site: ams, exchange: orders, keys: ["#"]}`, "the route takes nothing")
	}
	b.setHow(path, &route, in)
	route.Source = b.source(path+".from", id, in.From)
	targets := b.destinations(path+".to", in.To)
	b.doc.targets[route.ID] = targets
	for _, origin := range b.origins(path+".from", in.From) {
		r := route
		r.Lane = federation.Lane{Origin: origin, Route: route.ID}
		b.checkReach(path, origin, in, targets)
		r.Destinations = destinationsOf(targets, origin)
		r.Digest = r.digest()
		if len(r.Destinations) > 0 {
			b.doc.routes = append(b.doc.routes, r)
		}
	}
	if len(b.doc.routes) > maxLanes {
		b.file.Report(path, "", "more than %d lanes (routes times their origin sites)", maxLanes)
		b.doc.routes = b.doc.routes[:maxLanes]
	}
}

// origins gives the sites that a route starts at.
func (b *builder) origins(path string, in fromSchema) []federation.SiteID {
	if (in.Site != "") == (in.Sites != nil) {
		b.file.Report(path, "site: ams, or sites: {region: eu}",
			"a route starts at one site or at the sites that have some labels")
		return nil
	}
	if in.Site != "" {
		b.checkSite(path+".site", in.Site)
		return []federation.SiteID{federation.SiteID(in.Site)}
	}
	var origins []federation.SiteID
	for _, s := range b.doc.sites {
		if s.has(in.Sites) {
			origins = append(origins, s.ID)
		}
	}
	if len(origins) == 0 || len(in.Sites) == 0 {
		b.file.Report(path+".sites", "labels that a site has", "no site is selected")
	}
	return origins
}

func (s Site) has(labels map[string]string) bool {
	for k, v := range labels {
		if s.Labels[k] != v {
			return false
		}
	}
	return true
}

// checkReach reports destinations that no link leads to. A route that starts at several sites leaves out the origin
// itself.
func (b *builder) checkReach(path string, origin federation.SiteID, in routeSchema, targets []target) {
	for i, to := range targets {
		at := fmt.Sprintf("%s.to[%d].site", path, i)
		switch {
		case to.Site == origin && in.From.Site != "":
			b.file.Report(at, "another site", "the route starts at %s and ends there", origin)
		case to.Site != origin && b.knows(origin) && b.knows(to.Site) && !b.doc.mayForward(origin, to.Site):
			b.file.Report(at, fmt.Sprintf("{between: [%s, %s]} under links", origin, to.Site),
				"no link goes from %s to %s, and forwarding through another site comes with a later version", origin,
				to.Site)
		}
	}
}

func (b *builder) knows(site federation.SiteID) bool {
	_, ok := b.in.Sites[string(site)]
	return ok
}

// checkSharedQueues refuses two routes that drain one queue: the second would wait for the first for ever.
func (b *builder) checkSharedQueues() {
	type place struct {
		site  federation.SiteID
		queue string
	}
	first := map[place]string{}
	for _, r := range b.doc.routes {
		if r.Source.Exchange != "" {
			continue // a queue of the router's own, named after the id
		}
		at := place{r.Lane.Origin, r.Source.Queue}
		if other, taken := first[at]; taken && other != r.Name {
			b.file.Report("routes."+r.Name+".from.queue", "one route with both sets of destinations",
				"route %s drains the queue %q at %s already", other, at.queue, at.site)
		}
		first[at] = r.Name
	}
}

// setHow fills in how the route's messages are treated.
func (b *builder) setHow(path string, r *Route, in routeSchema) {
	b.setClass(path+".class", r, cmp.Or(in.Class, defaultClass))
	b.checkWord(path+".order", in.Order, "", "strict")
	r.OnUnroutable = cmp.Or(in.OnUnroutable, OnUnroutablePark)
	b.checkWord(path+".on-unroutable", r.OnUnroutable, OnUnroutablePark, OnUnroutableHold)
	if declare := in.OnMissingExchange.declare; declare != nil {
		r.OnMissingExchange.Declare = declare.Type
		b.checkExchangeType(path+".on-missing-exchange.declare.type", declare.Type)
	}
	b.setLimits(path, r, in)
	if in.Shards != nil && *in.Shards != 1 {
		b.file.Report(path+".shards", "shards: 1, or several routes with keys of their own",
			"more than one shard comes with a later version")
	}
	if in.MessageTTL != nil {
		b.file.Report(path+".message-ttl", "the expiration property of the messages",
			"message-ttl comes with a later version")
	}
}

func (b *builder) setClass(path string, r *Route, class string) {
	i := slices.Index(b.doc.classes, class)
	if i < 0 {
		write := cmp.Or(yamlfile.Nearest(class, b.doc.classes), "one of "+strings.Join(b.doc.classes, ", "))
		b.file.Report(path, write, "there is no class %q", class)
		return
	}
	r.Class, r.ClassIndex = class, uint8(i)
}

func (b *builder) checkWord(path, word string, allowed ...string) {
	if slices.Contains(allowed, word) {
		return
	}
	allowed = slices.DeleteFunc(allowed, func(s string) bool { return s == "" })
	b.file.Report(path, strings.Join(allowed, " or "), "%q is not known here", word)
}

func (b *builder) setLimits(path string, r *Route, in routeSchema) {
	r.MaxMessageSize, r.MaxHops = MaxMessageSize, defaultMaxHops
	if in.MaxMessageSize != nil {
		if *in.MaxMessageSize < 1 || *in.MaxMessageSize > MaxMessageSize {
			b.file.Report(path+".max-message-size", "1B to "+yamlfile.Size(MaxMessageSize).String(),
				"%s is not a size of a message in this version", in.MaxMessageSize)
			return
		}
		r.MaxMessageSize = int(*in.MaxMessageSize)
	}
	if in.MaxHops != nil {
		if *in.MaxHops < 1 || *in.MaxHops > federation.MaxPath {
			b.file.Report(path+".max-hops", fmt.Sprintf("1 to %d", federation.MaxPath), "%d is not a number of hops",
				*in.MaxHops)
			return
		}
		r.MaxHops = *in.MaxHops
	}
}
