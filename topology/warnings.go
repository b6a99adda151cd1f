package topology

import (
	"fmt"
	"slices"

	"cloudqueue/federation"
)

// warn notes what is legal and does nothing, or not yet.
func (b *builder) warn() {
	b.warnUnusedLinks()
	b.warnIdleSites()
	b.warnUnusedClasses()
	b.warnShownOnly()
	b.doc.warnings = b.doc.warnings.Sort()
}

func (b *builder) warning(path, write, what string, args ...any) {
	b.doc.warnings = append(b.doc.warnings, b.file.Problem(path, write, what, args...))
}

func (b *builder) warnUnusedLinks() {
	if b.in.Links == nil {
		return
	}
	used := b.doc.usedPairs()
	for i, in := range *b.in.Links {
		if !used[pairOf(federation.SiteID(in.Between[0]), federation.SiteID(in.Between[1]))] {
			b.warning(fmt.Sprintf("links[%d]", i), "", "no route uses the link of %s and %s", in.Between[0],
				in.Between[1])
		}
	}
}

// pairOf names a pair of sites, whichever is first.
func pairOf(a, z federation.SiteID) [2]federation.SiteID {
	return [2]federation.SiteID{min(a, z), max(a, z)}
}

// usedPairs gives the pairs of sites between which a route goes.
func (d *Document) usedPairs() map[[2]federation.SiteID]bool {
	used := map[[2]federation.SiteID]bool{}
	for _, r := range d.routes {
		for _, to := range r.Destinations {
			used[pairOf(r.Lane.Origin, to.Site)] = true
		}
	}
	return used
}

func (b *builder) warnIdleSites() {
	busy := map[federation.SiteID]bool{}
	for pair := range b.doc.usedPairs() {
		busy[pair[0]], busy[pair[1]] = true, true
	}
	for _, s := range b.doc.sites {
		if !busy[s.ID] {
			b.warning("sites."+string(s.ID), "", "no route starts or ends at %s", s.ID)
		}
	}
}

func (b *builder) warnUnusedClasses() {
	for _, name := range b.doc.classes[len(builtinClasses):] {
		if !slices.ContainsFunc(b.doc.routes, func(r Route) bool { return r.Class == name }) {
			b.warning("classes."+name, "", "no route has the class %s", name)
		}
	}
}

// warnShownOnly tells of what describes a link and changes nothing in this version, once.
func (b *builder) warnShownOnly() {
	for i := range b.doc.links {
		for _, key := range []string{"bandwidth", "cost"} {
			if path := fmt.Sprintf("links[%d].%s", i, key); b.file.Has(path) {
				b.warning(path, "",
					"bandwidth and cost of links are shown only: limits and paths over several links come with a later version")
				return
			}
		}
	}
}
