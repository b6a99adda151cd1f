package topology

import (
	"crypto/sha256"
	"encoding/json"

	"cloudqueue/federation"
)

// Route is a route as one origin site runs it: a route of the document whose `from` names several sites gives one Route
// for each of them.
type Route struct {
	ID   federation.RouteID
	Name string
	Lane federation.Lane
	// Source has the queue's name filled in: the router's own cq.out.<route id> when it has an exchange.
	Source       federation.Source
	Destinations []RouteDestination // in the order of the document; never Lane.Origin itself
	Class        string
	ClassIndex   uint8 // 0 urgent, 1 normal, 2 bulk, then the document's own by name
	Strict       bool  // order: strict
	// MaxMessageSize is in bytes of exchange, key, properties and body.
	MaxMessageSize    int
	MaxHops           int
	OnUnroutable      string // OnUnroutablePark or OnUnroutableHold
	OnMissingExchange MissingExchange
	TrustUserID       bool
	// Digest is the SHA-256 of everything above but Name: what a router compares to see whether the route changed.
	Digest [32]byte
}

// What on-unroutable may say.
const (
	OnUnroutablePark = "park"
	OnUnroutableHold = "hold"
)

// MissingExchange says what a destination does when the exchange is missing at its broker.
type MissingExchange struct {
	Declare string // type of the exchange to declare; empty: hold the lane until somebody declares it
}

// RouteDestination is a destination and what it changes on the way into the broker there.
type RouteDestination struct {
	federation.Destination
	Exchange   *string // nil: the exchange that the message came from
	RoutingKey *string // nil: the message's own
	Queue      string  // not empty: straight into this queue, by the default exchange
}

// Address tells where a message goes at the destination.
func (d RouteDestination) Address(m *federation.Message) (exchange, routingKey string) {
	if d.Queue != "" {
		return "", d.Queue
	}
	exchange, routingKey = m.Exchange, m.RoutingKey
	if d.Exchange != nil {
		exchange = *d.Exchange
	}
	if d.RoutingKey != nil {
		routingKey = *d.RoutingKey
	}
	return exchange, routingKey
}

// RoutesFrom gives the routes that a site originates, by route id.
func (d *Document) RoutesFrom(site federation.SiteID) []Route {
	return d.selectRoutes(func(r *Route) bool { return r.Lane.Origin == site })
}

// RoutesTo gives the routes that have a destination at a site, by origin and route id.
func (d *Document) RoutesTo(site federation.SiteID) []Route {
	return d.selectRoutes(func(r *Route) bool { return r.reaches(site) })
}

// Routes gives all routes, by origin and route id.
func (d *Document) Routes() []Route { return d.routes }

func (d *Document) selectRoutes(want func(*Route) bool) []Route {
	var found []Route
	for i := range d.routes {
		if want(&d.routes[i]) {
			found = append(found, d.routes[i])
		}
	}
	return found
}

func (r *Route) reaches(site federation.SiteID) bool {
	for _, to := range r.Destinations {
		if to.Site == site {
			return true
		}
	}
	return false
}

// digest covers everything that a router acts on; a new name alone does not change it.
func (r *Route) digest() [sha256.Size]byte {
	copied := *r
	copied.Name, copied.Digest = "", [32]byte{}
	text, err := json.Marshal(copied)
	if err != nil {
		panic(err) // strings, numbers and nil
	}
	return sha256.Sum256(text)
}
