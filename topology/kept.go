package topology

import (
	"encoding/json"

	"cloudqueue/federation"
)

// keptRoute is a route that is gone, as it stands in the last good copy. Route may change with the program, this may
// not: a field is added with omitempty, and none changes its name or meaning within one lastGoodFormat.
//
//	field             type     meaning
//	id, name, origin  text     Route.ID, Route.Name, Route.Lane.Origin
//	source            object   keptSource
//	destinations      list     Number each: site, target, exchange, routing-key, queue
//	class             text     its name; class-index its number
//	strict            bool     order: strict
//	max-message-size  integer  bytes
//	max-hops          integer
//	on-unroutable     text     park or hold
//	declare-missing   text     type of the exchange that a destination declares; "": it holds the lane
//	trust-user-id     bool
type keptRoute struct {
	ID             federation.RouteID `json:"id"`
	Name           string             `json:"name"`
	Origin         federation.SiteID  `json:"origin"`
	Source         keptSource         `json:"source"`
	Destinations   []Number           `json:"destinations"`
	Class          string             `json:"class"`
	ClassIndex     uint8              `json:"class-index"`
	Strict         bool               `json:"strict,omitempty"`
	MaxMessageSize int                `json:"max-message-size"`
	MaxHops        int                `json:"max-hops"`
	OnUnroutable   string             `json:"on-unroutable"`
	DeclareMissing string             `json:"declare-missing,omitempty"`
	TrustUserID    bool               `json:"trust-user-id,omitempty"`
}

// keptSource is a federation.Source in the last good copy.
//
//	field     type           meaning
//	queue     text
//	exchange  text           "": the queue is somebody else's
//	keys      list of texts  binding patterns
//	declare   text           type of the exchange to declare
type keptSource struct {
	Queue    string   `json:"queue"`
	Exchange string   `json:"exchange,omitempty"`
	Keys     []string `json:"keys,omitempty"`
	Declare  string   `json:"declare,omitempty"`
}

func keepSource(s federation.Source) keptSource { return keptSource(s) }

func (k keptSource) source() federation.Source { return federation.Source(k) }

func keepRoute(r Route) keptRoute {
	k := keptRoute{ID: r.ID, Name: r.Name, Origin: r.Lane.Origin, Source: keepSource(r.Source),
		Class: r.Class, ClassIndex: r.ClassIndex, Strict: r.Strict, MaxMessageSize: r.MaxMessageSize,
		MaxHops: r.MaxHops, OnUnroutable: r.OnUnroutable,
		DeclareMissing: r.OnMissingExchange.Declare, TrustUserID: r.TrustUserID}
	for _, d := range r.Destinations {
		k.Destinations = append(k.Destinations, newNumber(d))
	}
	return k
}

// route has no Digest: what it is compared for is over.
func (k keptRoute) route() Route {
	r := Route{ID: k.ID, Name: k.Name, Lane: federation.Lane{Origin: k.Origin, Route: k.ID}, Source: k.Source.source(),
		Class: k.Class, ClassIndex: k.ClassIndex, Strict: k.Strict, MaxMessageSize: k.MaxMessageSize, MaxHops: k.MaxHops,
		OnUnroutable:      k.OnUnroutable,
		OnMissingExchange: MissingExchange{Declare: k.DeclareMissing}, TrustUserID: k.TrustUserID}
	for _, n := range k.Destinations {
		r.Destinations = append(r.Destinations, n.destination())
	}
	return r
}

// size is what the route takes in the last good copy.
func (k keptRoute) size() int {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // texts, numbers and lists of them
	}
	return len(text) + 1
}

// each gives what f makes of every member; nil of none.
func each[A, B any](all []A, f func(A) B) []B {
	var out []B
	for _, a := range all {
		out = append(out, f(a))
	}
	return out
}
