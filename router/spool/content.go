package spool

import (
	"slices"

	"cloudqueue/federation"
)

// content is what a segment holds: where its batches and parked messages stand. It is gathered while the segment is
// written, or by a scan, and becomes the segment's footer.
type content struct {
	first, last federation.LSN // of the groups; 0 when there is none
	lanes       map[laneKey]*laneContent
	parks       []parkPlace
	unparks     []ownID
	others      []place // records of unknown, not critical types: kept and rewritten
	extents     int     // in all lanes
}

// laneContent is one numbering in one segment.
type laneContent struct {
	runs    []run
	extents []extent // sorted by first offset; of two with the same one the one written later is first
}

// extent is where a batch stands.
type extent struct {
	first    federation.Offset
	count    uint32
	position uint32 // of the batch's bytes in the segment
	length   uint32
	digest   uint32 // the first four bytes of the batch's digest: two different ones under one name are corruption
}

func (e *extent) last() federation.Offset { return e.first + federation.Offset(e.count) - 1 }

// run is a stretch of offsets of one numbering in one segment, both ends included. Offsets inside may be missing when
// maxRuns was reached.
type run struct {
	first, last federation.Offset
	bytes       uint64
	batches     uint32
}

// place is a record's payload in a segment.
type place struct {
	kind     recordType
	flags    uint8
	position uint32
	length   uint32
}

// parkPlace is a PARK in a segment.
type parkPlace struct {
	info ParkedInfo
	lsn  federation.LSN // own LSN
	at   place
}

// ownID is an UNPARK.
type ownID struct {
	id  ParkID
	lsn federation.LSN // own LSN
	at  place
}

// ownAudit is an AUDIT with its own LSN.
type ownAudit struct {
	lsn federation.LSN
	AuditRecord
}

// maxRuns bounds the runs of one numbering in one segment. Chosen: an origin's lane has one or two; a lane with more
// holes is looked up in its extents.
const maxRuns = 16

func newContent() *content { return &content{lanes: make(map[laneKey]*laneContent)} }

// addGroup notes a group's LSN.
func (c *content) addGroup(lsn federation.LSN) {
	if c.first == 0 {
		c.first = lsn
	}
	c.last = max(c.last, lsn)
}

// addBatch notes a batch.
func (c *content) addBatch(key laneKey, e extent) {
	lane := c.lanes[key]
	if lane == nil {
		lane = &laneContent{}
		c.lanes[key] = lane
	}
	lane.extents = insertExtent(lane.extents, e)
	lane.runs = addRun(lane.runs, run{e.first, e.last(), uint64(e.length), 1})
	c.extents++
}

// addRun adds what r holds to runs, which stay sorted by their first offset and at most maxRuns.
func addRun(runs []run, r run) []run {
	if n := len(runs); n > 0 && runs[n-1].last+1 == r.first {
		runs[n-1].join(r)
		return runs
	}
	at, _ := slices.BinarySearchFunc(runs, r, func(a, b run) int { return compareOffsets(a.first, b.first) })
	runs = slices.Insert(runs, at, r)
	if len(runs) > maxRuns {
		return joinClosest(runs)
	}
	return runs
}

// joinClosest joins the two neighbours with the smallest gap between them.
func joinClosest(runs []run) []run {
	best := 1
	for i := 2; i < len(runs); i++ {
		if runs[i].first-runs[i-1].last < runs[best].first-runs[best-1].last {
			best = i
		}
	}
	runs[best-1].join(runs[best])
	return slices.Delete(runs, best, best+1)
}

func (r *run) join(o run) {
	r.first, r.last = min(r.first, o.first), max(r.last, o.last)
	r.bytes += o.bytes
	r.batches += o.batches
}

func compareOffsets(a, b federation.Offset) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// insertExtent keeps extents sorted: mostly e belongs at the end.
func insertExtent(extents []extent, e extent) []extent {
	if n := len(extents); n == 0 || extents[n-1].first < e.first {
		return append(extents, e)
	}
	at, _ := slices.BinarySearchFunc(extents, e.first, func(a extent, first federation.Offset) int {
		return compareOffsets(a.first, first)
	})
	return slices.Insert(extents, at, e)
}
