package topology

import (
	"cmp"
	"slices"

	"cloudqueue/federation"
)

// maxGone bounds what is kept of routes that are gone, as JSON. Chosen: some ten thousand with a few keys each; the
// oldest leave first, and the destinations then answer their lanes NO_GRANT.
const maxGone = 8 << 20 // bytes

// goneRoutes are the routes of a site, as origin or as destination, that were in force once and are not in a document:
// their lanes still drain. A route that takes from somebody else's queue, and took from an exchange before, is among
// them too, for the router's own queue that it has left. Forgotten are those that maxGone has no room for.
func goneRoutes(was *Snapshot, document *Document, site federation.SiteID) (gone, forgotten []Route) {
	if was == nil {
		return nil, nil
	}
	for _, r := range slices.Concat(was.Gone, was.Document.routes) {
		if (r.Lane.Origin == site || r.reaches(site)) && (!hasLane(document, r.Lane) || document.leaves(&r, site)) {
			gone = slices.DeleteFunc(gone, func(g Route) bool { return g.Lane == r.Lane })
			gone = append(gone, r)
		}
	}
	return newestOf(gone)
}

// leaves tells whether the route of the same lane has another queue than the router's own one that r has.
func (d *Document) leaves(r *Route, site federation.SiteID) bool {
	i, found := slices.BinarySearchFunc(d.routes, r.Lane, compareLane)
	return found && r.Lane.Origin == site && r.Source.Exchange != "" && d.routes[i].Source.Queue != r.Source.Queue
}

func compareLane(r Route, l federation.Lane) int {
	return cmp.Or(cmp.Compare(r.Lane.Origin, l.Origin), cmp.Compare(r.ID, l.Route))
}

func newestOf(gone []Route) (kept, forgotten []Route) {
	left := maxGone
	for i, r := range slices.Backward(gone) {
		if left -= keepRoute(r).size(); left < 0 {
			return gone[i+1:], gone[:i+1]
		}
	}
	return gone, nil
}
