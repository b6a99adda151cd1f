package topology

import (
	"fmt"
	"slices"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

const maxCost = 1 << 20 // chosen: the sum over a path of 32 hops fits 32 bits

func (b *builder) addLinks() {
	if b.in.Links == nil {
		b.doc.allLinked = true
		return
	}
	first := map[[2]string]int{}
	for i, in := range *b.in.Links {
		path := fmt.Sprintf("links[%d]", i)
		link, ok := b.link(path, in)
		if !ok {
			continue
		}
		pair := [2]string{min(in.Between[0], in.Between[1]), max(in.Between[0], in.Between[1])}
		if j, repeated := first[pair]; repeated {
			b.file.Report(path+".between", "one link for the two", "%s and %s are already linked by links[%d]", pair[0],
				pair[1], j)
			continue
		}
		first[pair] = i
		b.doc.links = append(b.doc.links, link)
	}
	slices.SortFunc(b.doc.links, func(x, y Link) int { return slices.Compare(x.Between[:], y.Between[:]) })
}

func (b *builder) link(path string, in linkSchema) (Link, bool) {
	link := Link{OneWay: in.OneWay, Bandwidth: uint64(in.Bandwidth), Cost: in.Cost}
	if in.Cost < 0 || in.Cost > maxCost {
		b.file.Report(path+".cost", "10", "cost %d is not from 0 to %d", in.Cost, maxCost)
	}
	b.checkTransport(path+".transport", in.Transport)
	if len(in.Between) != 2 {
		b.file.Report(path+".between", "between: [ams, nyc]", "a link is between two sites")
		return link, false
	}
	return link, b.checkEnds(path+".between", in.Between, &link)
}

func (b *builder) checkEnds(path string, between []string, link *Link) bool {
	dialled, known := false, true
	for i, name := range between {
		at := fmt.Sprintf("%s[%d]", path, i)
		known = b.checkSite(at, name) && known
		link.Between[i] = federation.SiteID(name)
		dialled = dialled || len(b.in.Sites[name].Listen) > 0
	}
	if !known {
		return false
	}
	if between[0] == between[1] {
		b.file.Report(path, "two different sites", "%s is linked with itself", between[0])
		return false
	}
	if !dialled {
		b.file.Report(path, fmt.Sprintf("listen: [host:port] at %s or %s", between[0], between[1]),
			"neither %s nor %s listens", between[0], between[1])
	}
	return true
}

func (b *builder) checkTransport(path string, transport []string) {
	for i, t := range transport {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch t {
		case "quic":
		case "tcp":
			b.file.Report(at, "transport: [quic]", "tcp comes with a later version")
		default:
			b.file.Report(at, "transport: [quic]", "%q is not a transport", t)
		}
	}
}

// checkSite reports a site that the document does not have.
func (b *builder) checkSite(path, name string) bool {
	if _, ok := b.in.Sites[name]; ok || b.file.Failed("sites") {
		return ok
	}
	names := sortedKeys(b.in.Sites)
	write := yamlfile.Nearest(name, names)
	if write == "" {
		write = "a name that stands under sites"
	}
	b.file.Report(path, write, "there is no site %q", name)
	return false
}

// Links gives the links of the document by their ends. Without `links` in the document it gives every pair of which one
// site listens.
func (d *Document) Links() []Link {
	if !d.allLinked {
		return d.links
	}
	var all []Link
	for i, a := range d.sites {
		for _, z := range d.sites[i+1:] {
			if len(a.Listen)+len(z.Listen) > 0 {
				all = append(all, Link{Between: [2]federation.SiteID{a.ID, z.ID}})
			}
		}
	}
	return all
}

// Peers gives the linked sites of a site, by name.
func (d *Document) Peers(site federation.SiteID) []Peer {
	var peers []Peer
	for _, other := range d.sites {
		if _, ok := d.linkBetween(site, other.ID); ok {
			peers = append(peers, Peer{Site: other.ID, Listen: other.Listen, Dials: len(other.Listen) > 0})
		}
	}
	return peers
}

// linkBetween finds the link of two sites, whichever stands first.
func (d *Document) linkBetween(a, z federation.SiteID) (Link, bool) {
	if a == z {
		return Link{}, false
	}
	if d.allLinked {
		from, ok := d.Site(a)
		to, alsoOK := d.Site(z)
		return Link{Between: [2]federation.SiteID{a, z}}, ok && alsoOK && len(from.Listen)+len(to.Listen) > 0
	}
	for _, pair := range [][2]federation.SiteID{{a, z}, {z, a}} {
		i, found := slices.BinarySearchFunc(d.links, pair,
			func(l Link, pair [2]federation.SiteID) int { return slices.Compare(l.Between[:], pair[:]) })
		if found {
			return d.links[i], true
		}
	}
	return Link{}, false
}

// mayForward tells whether messages may go over a direct link from one site to another.
func (d *Document) mayForward(from, to federation.SiteID) bool {
	link, ok := d.linkBetween(from, to)
	return ok && (!link.OneWay || link.Between[0] == from)
}
