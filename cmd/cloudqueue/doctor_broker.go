package main

import (
	"context"
	"slices"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/topology"
)

func (d *doctor) checkBroker(ctx context.Context) []finding {
	const part = "broker"
	config, err := d.config.LocalBroker(nil)
	if err != nil {
		return []finding{broken(part,
			"write broker.password as file:/path or env:NAME, and make it readable for the router's user", err)}
	}
	broker, err := localbroker.New(config)
	if err != nil {
		return []finding{broken(part, "mend broker in the router's file", err)}
	}
	var findings []finding
	for _, f := range broker.Inspect(ctx, d.wish()) {
		findings = append(findings, finding{part + ", " + f.Subject, brokerLevels[f.Level], f.Text, f.Fix})
	}
	return findings
}

var brokerLevels = map[localbroker.Level]level{
	localbroker.Good:   levelGood,
	localbroker.Unseen: levelUnknown,
	localbroker.Unsafe: levelUnsafe,
	localbroker.Broken: levelBroken,
}

// wish is what the topology makes this site's router do at its broker; without a topology only the login is looked at.
func (d *doctor) wish() localbroker.Wish {
	var wish localbroker.Wish
	if d.document == nil {
		return wish
	}
	for _, route := range d.document.RoutesFrom(d.config.Site) {
		wish.Sources = append(wish.Sources, route.Source)
	}
	for _, route := range d.document.RoutesTo(d.config.Site) {
		wish.Exchanges = append(wish.Exchanges, exchangesOf(route, d.config.Site)...)
	}
	slices.Sort(wish.Exchanges)
	wish.Exchanges = slices.Compact(wish.Exchanges)
	return wish
}

// exchangesOf are those that a route publishes to at a site, as far as the topology says it: a drained queue's messages
// bring their own. A destination that is a queue has the default exchange, "".
func exchangesOf(route topology.Route, at federation.SiteID) (names []string) {
	for _, destination := range route.Destinations {
		if destination.Site != at {
			continue
		}
		name, _ := destination.Address(&federation.Message{Exchange: route.Source.Exchange})
		if route.OnMissingExchange.Declare == "" {
			names = append(names, name)
		}
	}
	return names
}
