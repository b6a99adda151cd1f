package spool

import (
	"cmp"
	"slices"

	"cloudqueue/federation"
)

// index says which segments hold what of every numbering: runs of offsets, not batches, so that memory does not grow
// with the backlog.
type index struct {
	lanes       map[laneKey]*laneIndex
	generations map[federation.Lane][]federation.Generation // of lanes, in no order
	bytes       map[federation.Lane]uint64                  // live, over all generations
}

// laneIndex is one numbering.
type laneIndex struct {
	runs      []segmentRun // sorted by first; they may overlap while a segment is cleaned
	forgotten federation.Offset
	highest   federation.Offset // ever stored, also when it is forgotten
}

// segmentRun is a run that is not forgotten, and the segment that holds it.
type segmentRun struct {
	run
	segment *segment
}

func newIndex() *index {
	return &index{lanes: make(map[laneKey]*laneIndex), generations: make(map[federation.Lane][]federation.Generation),
		bytes: make(map[federation.Lane]uint64)}
}

func (x *index) lane(key laneKey) *laneIndex {
	l := x.lanes[key]
	if l == nil {
		l = &laneIndex{}
		x.lanes[key] = l
		x.generations[key.lane] = append(x.generations[key.lane], key.generation)
	}
	return l
}

// add notes that g holds r. What is forgotten already is dead on arrival.
func (x *index) add(key laneKey, r run, g *segment) {
	l := x.lane(key)
	l.highest = max(l.highest, r.last)
	if r.last <= l.forgotten {
		return
	}
	if r.first <= l.forgotten {
		r = r.after(l.forgotten)
	}
	x.account(key, g, r, true)
	if n := len(l.runs); n > 0 && l.runs[n-1].segment == g && l.runs[n-1].last+1 == r.first {
		l.runs[n-1].join(r)
		return
	}
	at, _ := slices.BinarySearchFunc(l.runs, r.first, func(a segmentRun, first federation.Offset) int {
		return compareOffsets(a.first, first)
	})
	l.runs = slices.Insert(l.runs, at, segmentRun{r, g})
	l.limitRuns(g)
}

// addContent takes the batches of a durable write, into the index and into the segment's own.
func (x *index) addContent(o *openSegment, pending *content) {
	for key, l := range pending.lanes {
		for _, e := range l.extents {
			o.content.addBatch(key, e)
			x.add(key, run{e.first, e.last(), uint64(e.length), 1}, o.segment)
		}
	}
	o.content.parks = append(o.content.parks, pending.parks...)
	o.content.unparks = append(o.content.unparks, pending.unparks...)
	o.content.others = append(o.content.others, pending.others...)
	o.content.addGroup(pending.first)
	o.content.addGroup(pending.last)
}

// limitRuns joins two runs of g when it has more than maxRuns of the lane.
func (l *laneIndex) limitRuns(g *segment) {
	var own []int
	for i := range l.runs {
		if l.runs[i].segment == g {
			own = append(own, i)
		}
	}
	if len(own) <= maxRuns {
		return
	}
	best := 1
	for i := 2; i < len(own); i++ {
		if l.runs[own[i]].first-l.runs[own[i-1]].last < l.runs[own[best]].first-l.runs[own[best-1]].last {
			best = i
		}
	}
	l.runs[own[best-1]].join(l.runs[own[best]].run)
	l.runs = slices.Delete(l.runs, own[best], own[best]+1)
}

// after is what remains of r above upTo; its bytes are estimated by its share of the offsets.
func (r run) after(upTo federation.Offset) run {
	share := float64(r.last-upTo) / float64(r.last-r.first+1)
	return run{upTo + 1, r.last, uint64(float64(r.bytes) * share), uint32(max(1, float64(r.batches)*share))}
}

// account adds r to, or takes it from, the live bytes of its segment and its lane.
func (x *index) account(key laneKey, g *segment, r run, add bool) {
	if add {
		g.live += r.bytes
		g.batches += uint64(r.batches)
		x.bytes[key.lane] += r.bytes
		return
	}
	g.live -= min(g.live, r.bytes)
	g.batches -= min(g.batches, uint64(r.batches))
	x.bytes[key.lane] -= min(x.bytes[key.lane], r.bytes)
}

// forget drops everything up to upTo and tells whether a segment lost the last batch that it held.
func (x *index) forget(key laneKey, upTo federation.Offset) (emptied bool) {
	l := x.lane(key)
	if upTo <= l.forgotten {
		return false
	}
	l.forgotten = upTo
	// runs whose first offset is forgotten come first; those that reach beyond it stay, with a new first offset
	kept := 0
	for i := range l.runs {
		r := l.runs[i]
		if r.first <= upTo {
			x.account(key, r.segment, r.run, false)
			if r.last <= upTo {
				emptied = emptied || r.segment.live == 0
				continue
			}
			r.run = r.after(upTo)
			x.account(key, r.segment, r.run, true)
		}
		l.runs[kept] = r
		kept++
	}
	clear(l.runs[kept:])
	l.runs = l.runs[:kept]
	return emptied
}

// drop takes a segment out.
func (x *index) drop(g *segment) {
	for key, l := range x.lanes {
		l.runs = slices.DeleteFunc(l.runs, func(r segmentRun) bool {
			if r.segment == g {
				x.account(key, g, r.run, false)
			}
			return r.segment == g
		})
	}
}

// at gives the run that holds from, or the next one after it, and every other run that overlaps with it. runs are
// appended to buf.
func (l *laneIndex) at(from federation.Offset, buf []segmentRun) []segmentRun {
	for i := range l.runs {
		r := &l.runs[i]
		if r.last < from {
			continue
		}
		if len(buf) > 0 && r.first > buf[0].last {
			break
		}
		buf = append(buf, *r)
	}
	return buf
}

// extent tells what of a numbering is stored; false: nothing.
func (x *index) extent(key laneKey) (Extent, bool) {
	l := x.lanes[key]
	if l == nil || len(l.runs) == 0 {
		return Extent{}, false
	}
	e := Extent{Lane: key.lane, Generation: key.generation, First: l.runs[0].first}
	for i := range l.runs {
		r := &l.runs[i]
		e.Last = max(e.Last, r.last)
		e.Batches += uint64(r.batches)
		e.Bytes += r.bytes
	}
	return e, true
}

func sortExtentList(list []Extent) {
	slices.SortFunc(list, func(a, b Extent) int {
		return cmp.Or(compareLaneKeys(laneKey{a.Lane, a.Generation}, laneKey{b.Lane, b.Generation}),
			compareOffsets(a.First, b.First))
	})
}
