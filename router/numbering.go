package router

import (
	"fmt"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// numbering is what a store knows of the offsets of a lane's generation.
type numbering struct {
	last  federation.Offset // the last that was assigned
	dups  uint64            // duplicates of the broker among them
	voids []federation.Void
}

// storedNumbering finds the last assigned offset: the highest of stored batches, LANE_HIGH, every receipt and every void (4.2). Each may
// be missing in a store that was cleaned or has lost something.
func storedNumbering(sp *spool.Spool, lane federation.Lane, mark federation.LaneMark) (numbering, error) {
	n := numbering{last: sp.Highest(lane, mark.Generation)}
	if value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: lane, Generation: mark.Generation}); ok {
		high, err := federation.ParseLaneHigh(value)
		if err != nil {
			return n, fmt.Errorf("lane %s: high: %w", lane, err)
		}
		n.last, n.dups = max(n.last, high.LastAssigned), high.IngestDuplicates
	}
	for _, m := range mark.Members {
		rc, _, err := storedReceipt(sp, lane, mark.Generation, m.Destination)
		if err != nil {
			return n, err
		}
		n.last = max(n.last, rc.Done)
	}
	voids, err := storedVoids(sp, lane, mark.Generation)
	n.voids = voids.Voids
	for _, v := range n.voids {
		n.last = max(n.last, v.Span.Last)
	}
	return n, err
}

func storedVoids(sp *spool.Spool, lane federation.Lane, gen federation.Generation) (federation.VoidMark, error) {
	value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkVoid, Lane: lane, Generation: gen})
	if !ok {
		return federation.VoidMark{}, nil
	}
	m, err := federation.ParseVoidMark(value)
	if err != nil {
		return m, fmt.Errorf("lane %s: voids: %w", lane, err)
	}
	return m, nil
}

// storedReceipt is a destination's last durable word; false: there is none.
func storedReceipt(sp *spool.Spool, lane federation.Lane, gen federation.Generation, d federation.Destination) (federation.Receipt, bool, error) {
	value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkReceipt, Lane: lane, Generation: gen, Dest: d})
	if !ok {
		return federation.Receipt{}, false, nil
	}
	rc, err := federation.ParseReceipt(value)
	if err != nil {
		return rc, false, fmt.Errorf("lane %s: receipt of %s: %w", lane, d, err)
	}
	return rc, true, nil
}

func storedDest(sp *spool.Spool, lane federation.Lane, gen federation.Generation, d federation.Destination) (federation.DestMark, error) {
	value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkDest, Lane: lane, Generation: gen, Dest: d})
	if !ok {
		return federation.DestMark{}, nil
	}
	m, err := federation.ParseDestMark(value)
	if err != nil {
		return m, fmt.Errorf("lane %s: stores of %s: %w", lane, d, err)
	}
	return m, nil
}
