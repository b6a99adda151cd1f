package topology

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// Problem is one mistake in a document, and Problems all of them; see yamlfile.
type (
	Problem  = yamlfile.Problem
	Problems = yamlfile.Problems
)

// DefaultFederation is the federation of a document that names none.
const DefaultFederation = "cloudqueue"

// Document is a valid topology. It never changes; any number of goroutines may read it, and nobody may change the
// slices that it gives.
type Document struct {
	name       string
	source     []byte
	digest     [sha256.Size]byte
	federation string
	sites      []Site // by id
	links      []Link // by ends; empty and allLinked when the document has no links
	allLinked  bool
	classes    []string // by index
	routes     []Route  // by lane
	targets    map[federation.RouteID][]target
	numbers    Numbers  // as the source keeps them; nil: it keeps none
	accepts    []string // digests that this document may replace although something strands
	warnings   Problems
}

// Site is one data center of the document.
type Site struct {
	ID     federation.SiteID
	Listen []string // host:port where peers reach its router; empty: it only dials
	Labels map[string]string
}

// Link joins two sites.
type Link struct {
	Between   [2]federation.SiteID // in the order of the document
	OneWay    bool                 // messages go from Between[0] to Between[1] alone
	Bandwidth uint64               // bits per second; 0: not said
	Cost      int
}

// Peer is a linked site, seen from one site.
type Peer struct {
	Site   federation.SiteID
	Listen []string // where to dial it
	Dials  bool     // this side has an address to dial
}

// Federation is the name that certificates and HELLO carry.
func (d *Document) Federation() string { return d.federation }

// Source is the text of the document, byte for byte as it was read.
func (d *Document) Source() []byte { return slices.Clone(d.source) }

// Digest is the SHA-256 of Source.
func (d *Document) Digest() [sha256.Size]byte { return d.digest }

// Warnings are what is legal and still looks like a mistake: a link that no route uses, a key that this version only
// shows.
func (d *Document) Warnings() Problems { return d.warnings }

// Sites gives all sites by id.
func (d *Document) Sites() []Site { return d.sites }

// Classes gives the names of all classes by their index.
func (d *Document) Classes() []string { return d.classes }

// Site finds a site.
func (d *Document) Site(id federation.SiteID) (Site, bool) {
	i, found := slices.BinarySearchFunc(d.sites, id, func(s Site, id federation.SiteID) int {
		return cmp.Compare(s.ID, id)
	})
	if !found {
		return Site{}, false
	}
	return d.sites[i], true
}
