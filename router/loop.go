package router

import (
	"slices"
	"strings"

	"cloudqueue/federation"
)

// loops applies the loop rule to a message whose path can be believed: x-cq-id says that a lane which ends at this site delivered
// it. A path that would keep it from somebody and came without that is a publisher's: it is carried on, counted, and excludes nobody, for a
// message must not end for what anyone can write (decisions.md, D52).
func (s *sealer) loops(e *federation.Entry, dests []federation.Destination, maxHops int) uint64 {
	bits := excluded(e.Path, dests, maxHops)
	if bits == 0 {
		return 0
	}
	facts, _ := s.lane.r.cfg.Properties.Facts(e.Message.Properties) // what is wrong in them was said when they were read first
	if s.lane.r.delivers(facts.ID) {
		return bits
	}
	s.lane.r.refused.add("path", "not written by a site", s.lane.lane.String()+": the x-cq-path of a message is left out of account, it goes to every destination",
		"have publishers leave out the headers x-cq-*")
	return 0
}

// excluded applies the loop rule: a destination that the message has visited does not get it again, and none does
// after maxHops sites.
func excluded(path []federation.SiteID, dests []federation.Destination, maxHops int) uint64 {
	if maxHops > 0 && len(path) >= maxHops {
		return allOf(dests)
	}
	var bits uint64
	for i, d := range dests {
		if slices.Contains(path, d.Site) {
			bits |= 1 << i
		}
	}
	return bits
}

func allOf(dests []federation.Destination) uint64 { return 1<<len(dests) - 1 }

// delivers tells whether an x-cq-id (lane@generation:offset) names a lane that ends at this site, or ended until its route went.
func (r *Router) delivers(id string) bool {
	name := id[:max(0, strings.LastIndexByte(id, '@'))]
	lane, err := federation.ParseLane(name)
	return err == nil && r.inboundRoute(lane).Lane == lane
}
