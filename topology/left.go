package topology

import (
	"slices"

	"cloudqueue/federation"
)

// Bounds of what is remembered of bindings; the oldest leave first.
const (
	// bindings of one queue. Chosen: as many keys as a route may have; unbinding them all takes a second
	maxLeft      = 1000
	maxLeftBytes = 4 << 20 // of names and keys together. Chosen: as many as four of the largest documents have
)

// ownBinding is one binding of one of the router's own queues.
type ownBinding struct{ queue, exchange, key string }

// leftBindings are the bindings that a site's own queues had by an earlier document and that a document does not name:
// a binding is durable at the broker, so whoever forgot it would forward what nobody asks for any more. Nobody tells
// when the broker has removed one, so it is remembered until a document names it again; to remove it twice does no
// harm. Earlier is what they may be bound by, oldest first.
func leftBindings(earlier []federation.Source, document *Document, site federation.SiteID) []federation.Source {
	return newestBindings(bindingsOf(earlier), bindingsOf(sourcesAt(document.routes, site)))
}

// bindings are what a site's own queues may be bound by when its router has acted on s, oldest first.
func (s *Snapshot) bindings(site federation.SiteID) []federation.Source {
	if s == nil {
		return nil
	}
	return slices.Concat(s.Left, sourcesAt(s.Gone, site), sourcesAt(s.Document.routes, site))
}

// newestBindings are those without some, as many as there is room for, in their order.
func newestBindings(all, without []ownBinding) []federation.Source {
	seen := map[ownBinding]bool{}
	for _, b := range without {
		seen[b] = true
	}
	var left []ownBinding
	of, bytes := map[string]int{}, 0
	for _, b := range slices.Backward(all) {
		size := len(b.queue) + len(b.exchange) + len(b.key)
		if seen[b] || of[b.queue] == maxLeft || bytes+size > maxLeftBytes {
			continue
		}
		seen[b] = true
		of[b.queue]++
		bytes += size
		left = append(left, b)
	}
	slices.Reverse(left)
	return sourcesOf(left)
}

// sourcesAt gives the sources of a site's routes.
func sourcesAt(routes []Route, site federation.SiteID) []federation.Source {
	var all []federation.Source
	for i := range routes {
		if routes[i].Lane.Origin == site {
			all = append(all, routes[i].Source)
		}
	}
	return all
}

func bindingsOf(sources []federation.Source) []ownBinding {
	var all []ownBinding
	for _, s := range sources {
		for _, key := range s.Keys { // somebody else's queue has none
			all = append(all, ownBinding{s.Queue, s.Exchange, key})
		}
	}
	return all
}

// sourcesOf puts the keys of one queue and exchange together.
func sourcesOf(all []ownBinding) []federation.Source {
	var sources []federation.Source
	at := map[ownBinding]int{}
	for _, b := range all {
		place := ownBinding{queue: b.queue, exchange: b.exchange}
		i, known := at[place]
		if !known {
			i = len(sources)
			at[place] = i
			sources = append(sources, federation.Source{Queue: b.queue, Exchange: b.exchange})
		}
		sources[i].Keys = append(sources[i].Keys, b.key)
	}
	return sources
}
