package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cloudqueue/federation"
	"cloudqueue/topology/yamlfile"
)

// comparison fills a Plan.
type comparison struct {
	plan     *Plan
	old, new *Document
	does     map[federation.SiteID][]string
}

func (c *comparison) change(action Action, object, name string, fields ...Field) {
	c.plan.Changes = append(c.plan.Changes, Change{action, object, name, fields})
}

func (c *comparison) removed(object, name, strands string, args ...any) {
	c.change(Removed, object, name)
	c.plan.Removed++
	c.plan.Strands = append(c.plan.Strands, fmt.Sprintf(strands, args...))
}

func (c *comparison) do(site federation.SiteID, what string, args ...any) {
	c.does[site] = append(c.does[site], fmt.Sprintf(what, args...))
}

func (c *comparison) finish() {
	for _, site := range slices.Sorted(maps.Keys(c.does)) {
		c.plan.Sites = append(c.plan.Sites, SiteEffect{site, c.does[site]})
	}
}

func (c *comparison) compareHead() {
	if c.old.federation != c.new.federation {
		c.change(Changed, "federation", c.new.federation, Field{"federation", c.old.federation, c.new.federation})
		c.plan.Refused = append(c.plan.Refused, fmt.Sprintf(
			"federation %s cannot become %s: its name is in every certificate; start a second one", c.old.federation,
			c.new.federation))
	}
	for _, name := range union(c.old.classes, c.new.classes) {
		was, is := slices.Contains(c.old.classes, name), slices.Contains(c.new.classes, name)
		if !was {
			c.change(Added, "class", name)
		} else if !is {
			c.change(Removed, "class", name)
		}
	}
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (c *comparison) compareSites() {
	eachPair(c.old.sites, c.new.sites, func(s Site) string { return string(s.ID) }, func(name string, old, new *Site) {
		switch {
		case old == nil:
			c.change(Added, "site", name)
		case new == nil:
			c.removed("site", name, "site %s: what its store and its queues hold for other sites, "+
				"and what they hold for it, stays where it is", name)
			c.do(old.ID, "keeps its last good topology: stop it when its store is empty")
		default:
			c.changedSite(name, old, new)
		}
	})
}

// eachPair walks two lists by the name of their members, in the order of the names.
func eachPair[T any](old, new []T, name func(T) string, visit func(name string, old, new *T)) {
	was, is := map[string]*T{}, map[string]*T{}
	for i := range old {
		was[name(old[i])] = &old[i]
	}
	for i := range new {
		is[name(new[i])] = &new[i]
	}
	for _, key := range union(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is))) {
		visit(key, was[key], is[key])
	}
}

func (c *comparison) changedSite(name string, old, new *Site) {
	fields := changedFields(
		Field{"listen", strings.Join(old.Listen, ", "), strings.Join(new.Listen, ", ")},
		Field{"labels", labelText(old.Labels), labelText(new.Labels)})
	if len(fields) == 0 {
		return
	}
	c.change(Changed, "site", name, fields...)
	for _, f := range fields {
		if f.Key != "listen" {
			continue
		}
		for _, peer := range c.new.Peers(new.ID) {
			c.do(peer.Site, "dials %s at %s from its next connection on", name, cmp.Or(f.New, "no address"))
		}
	}
}

func changedFields(fields ...Field) []Field {
	return slices.DeleteFunc(fields, func(f Field) bool { return f.Old == f.New })
}

func labelText(labels map[string]string) string {
	parts := make([]string, 0, len(labels))
	for _, k := range sortedKeys(labels) {
		parts = append(parts, k+": "+labels[k])
	}
	return strings.Join(parts, ", ")
}

// compareLinks leaves out the links of two documents that list none: these come and go with the sites.
func (c *comparison) compareLinks() {
	if c.new.allLinked && (c.old.allLinked || len(c.old.sites) == 0) {
		return
	}
	if len(c.old.sites) > 0 && c.old.allLinked != c.new.allLinked {
		c.change(Changed, "link", "all", Field{"links", c.old.linkRule(), c.new.linkRule()})
	}
	name := func(l Link) string {
		pair := pairOf(l.Between[0], l.Between[1])
		return string(pair[0] + "–" + pair[1])
	}
	before := c.old.Links()
	c.plan.Objects += len(before)
	eachPair(before, c.new.Links(), name, func(name string, old, new *Link) {
		switch {
		case old == nil:
			c.change(Added, "link", name)
			c.linkAppears(*new)
		case new == nil:
			c.removed("link", name, "link %s: batches that are stored for its other end cannot leave", name)
			c.linkGoes(*old)
		default:
			c.changedLink(name, old, new)
		}
	})
}

func (d *Document) linkRule() string {
	if d.allLinked {
		return "every pair that can reach each other"
	}
	return "those of the document"
}

func (c *comparison) linkAppears(l Link) {
	for i, site := range l.Between {
		if s, ok := c.new.Site(l.Between[1-i]); ok && len(s.Listen) > 0 {
			c.do(site, "dials %s at %s", s.ID, strings.Join(s.Listen, ", "))
		} else {
			c.do(site, "accepts connections of %s", l.Between[1-i])
		}
	}
}

func (c *comparison) linkGoes(l Link) {
	for i, site := range l.Between {
		if _, stays := c.new.Site(site); stays {
			c.do(site, "drains its link to %s and closes it", l.Between[1-i])
		}
	}
}

func (c *comparison) changedLink(name string, old, new *Link) {
	fields := changedFields(
		Field{"direction", old.direction(), new.direction()},
		Field{"bandwidth", bandwidthText(old.Bandwidth), bandwidthText(new.Bandwidth)},
		Field{"cost", strconv.Itoa(old.Cost), strconv.Itoa(new.Cost)})
	if len(fields) > 0 {
		c.change(Changed, "link", name, fields...)
	}
}

func (l Link) direction() string {
	if l.OneWay {
		return fmt.Sprintf("%s to %s", l.Between[0], l.Between[1])
	}
	return "both ways"
}

func bandwidthText(bits uint64) string {
	if bits == 0 {
		return ""
	}
	return yamlfile.Bandwidth(bits).String()
}
