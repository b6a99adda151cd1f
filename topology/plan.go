package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cloudqueue/federation"
)

// Plan is what replacing one document by another would do.
type Plan struct {
	Changes []Change // by kind of object and name
	Sites   []SiteEffect
	Strands []string // what would be left behind, one sentence each
	Refused []string // why this version cannot do it at all, one sentence each
	Notes   []string // what looks like a mistake
	Removed int      // objects of the old document (sites, links, routes) that go
	Objects int      // objects of the old document

	OldDigest [32]byte // of the old document: what accept-stranding names; zero when there is none

	accepted bool // the new document names the old one under accept-stranding
}

// Action tells how an object changes.
type Action string

// Actions of a Change.
const (
	Added   Action = "added"
	Changed Action = "changed"
	Removed Action = "removed"
)

// Change is one object of the document that changes.
type Change struct {
	Action Action
	Object string // federation, class, site, link or route
	Name   string
	Fields []Field // of a changed object, what changes
}

// Field is one key of an object; an absent one is "".
type Field struct{ Key, Old, New string }

// SiteEffect is what the router of a site does when it follows the plan.
type SiteEffect struct {
	Site federation.SiteID
	Does []string
}

// Accept is an admin's explicit word for what a plan would strand.
type Accept struct {
	Stranding   bool // remove sites, links and routes although stored or queued messages may depend on them
	MassRemoval bool // remove more than 30 % of the map
}

// Errors of Plan.Check.
var (
	ErrRefused     = errors.New("this version cannot do that")
	ErrStrands     = errors.New("the change would strand messages")
	ErrMassRemoval = errors.New("the change removes much of the map")
)

// A plan that removes more than massPercent of the objects and at least massObjects of them looks like a wrong or a
// truncated file (chosen: one of the three routes of a small map may go without a second word).
const (
	massPercent = 30
	massObjects = 2
)

// MakePlan compares two documents. With old nil everything is added.
func MakePlan(old, new *Document) *Plan {
	if old == nil {
		old = &Document{federation: new.federation, classes: builtinClasses[:]}
	}
	p := &Plan{Objects: len(old.sites) + len(old.routes), accepted: new.acceptsReplacing(old), OldDigest: old.digest}
	c := comparison{plan: p, old: old, new: new, does: map[federation.SiteID][]string{}}
	c.compareHead()
	c.compareSites()
	c.compareLinks()
	c.compareRoutes()
	c.finish()
	return p
}

// Empty tells whether nothing changes.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 }

// Check tells whether the plan may be carried out: ErrRefused, ErrStrands or ErrMassRemoval says why not. The caller
// knows how the admin's word is given: by a flag of apply, or in a plain file.
func (p *Plan) Check(accept Accept) error {
	if len(p.Refused) > 0 {
		return fmt.Errorf("%w: %s", ErrRefused, strings.Join(p.Refused, "; "))
	}
	if p.accepted {
		return nil
	}
	if len(p.Strands) > 0 && !accept.Stranding {
		return fmt.Errorf("%w: %s", ErrStrands, strings.Join(p.Strands, "; "))
	}
	if p.Mass() && !accept.MassRemoval {
		return fmt.Errorf("%w: %d of %d sites, links and routes go", ErrMassRemoval, p.Removed, p.Objects)
	}
	return nil
}

// Mass tells whether the plan removes much of the map.
func (p *Plan) Mass() bool {
	return p.Removed >= massObjects && p.Removed*100 > p.Objects*massPercent
}

// acceptsReplacing tells whether the document's accept-stranding names the one that it replaces.
func (d *Document) acceptsReplacing(old *Document) bool {
	digest := fmt.Sprintf("%x", old.digest)
	return slices.ContainsFunc(d.accepts, func(prefix string) bool { return strings.HasPrefix(digest, prefix) })
}
