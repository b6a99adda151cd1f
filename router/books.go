package router

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// Books balances a store (G14), from its marks and batches alone: every lane, generation and destination on the origin's
// side (receipts) and on the destination's (journals). It works on a store that is only read.
func Books(sp *spool.Spool, site federation.SiteID, offline bool) (*admin.Books, error) {
	out := &admin.Books{At: time.Now(), Site: string(site), Store: sp.Identity().Store.String(), LSN: sp.LastLSN(), Offline: offline}
	parked := map[inGeneration]uint64{}
	for _, p := range sp.Parked() {
		parked[inGeneration{inKey{p.ID.Lane, p.ID.Destination}, p.ID.Generation}]++
	}
	for key, value := range sp.Marks(federation.MarkJournal) {
		if len(value) == 0 { // given up by a reseal
			continue
		}
		line, err := journalLine(key, value)
		if err != nil {
			return nil, err
		}
		line.ParkedHere = parked[inGeneration{inKey{key.Lane, key.Dest}, key.Generation}]
		out.Lines = append(out.Lines, line)
	}
	for key, value := range sp.Marks(federation.MarkLane) {
		lines, err := originLines(sp, key.Lane, value)
		if err != nil {
			return nil, err
		}
		out.Lines = append(out.Lines, lines...)
	}
	for i := range out.Lines {
		out.Lines[i].Balance()
	}
	slices.SortFunc(out.Lines, func(a, b admin.BookLine) int {
		return cmp.Or(strings.Compare(string(a.Side), string(b.Side)), strings.Compare(a.Lane, b.Lane), cmp.Compare(a.Generation, b.Generation), strings.Compare(a.Destination, b.Destination))
	})
	return out, nil
}

type inGeneration struct {
	inKey
	gen federation.Generation
}

func journalLine(key federation.MarkKey, value []byte) (admin.BookLine, error) {
	j, err := federation.ParseJournal(value)
	if err != nil {
		return admin.BookLine{}, fmt.Errorf("journal of %s, generation %d: %w", key.Lane, key.Generation, err)
	}
	return admin.BookLine{Side: admin.Target, Lane: key.Lane.String(), Generation: key.Generation, Destination: key.Dest.String(),
		Join: j.Join, Done: j.Done, Counters: admin.FromCounters(j.Counters)}, nil
}

// originLines are those of a lane's present generation, a line for each destination.
func originLines(sp *spool.Spool, lane federation.Lane, value []byte) ([]admin.BookLine, error) {
	mark, err := federation.ParseLaneMark(value)
	if err != nil {
		return nil, fmt.Errorf("lane %s: %w", lane, err)
	}
	spans, err := storedSpans(sp, lane, mark.Generation)
	if err != nil {
		return nil, err
	}
	var out []admin.BookLine
	for _, m := range mark.Members {
		line, err := originLine(sp, lane, mark.Generation, m, spans)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// bookSpans is what a lane has assigned, holds and gave up.
type bookSpans struct {
	last   federation.Offset
	stored []spool.Extent
	voids  []federation.Void
}

func storedSpans(sp *spool.Spool, lane federation.Lane, gen federation.Generation) (bookSpans, error) {
	var out bookSpans
	for _, e := range sp.ExtentsOf(lane) {
		if e.Generation == gen {
			out.stored = append(out.stored, e)
			out.last = max(out.last, e.Last)
		}
	}
	if value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkLaneHigh, Lane: lane, Generation: gen}); ok {
		high, err := federation.ParseLaneHigh(value)
		if err != nil {
			return out, fmt.Errorf("lane %s: high: %w", lane, err)
		}
		out.last = max(out.last, high.LastAssigned)
	}
	if value, ok := sp.Mark(federation.MarkKey{Kind: federation.MarkVoid, Lane: lane, Generation: gen}); ok {
		voids, err := federation.ParseVoidMark(value)
		if err != nil {
			return out, fmt.Errorf("lane %s: voids: %w", lane, err)
		}
		out.voids = voids.Voids
	}
	return out, nil
}

func originLine(sp *spool.Spool, lane federation.Lane, gen federation.Generation, m federation.Membership, spans bookSpans) (admin.BookLine, error) {
	line := admin.BookLine{Side: admin.Origin, Lane: lane.String(), Generation: gen, Destination: m.Destination.String(), Join: m.Join, Done: m.Join - 1,
		LastAssigned: spans.last}
	if m.Leave != 0 {
		line.LastAssigned = m.Leave
	}
	key := federation.MarkKey{Kind: federation.MarkReceipt, Lane: lane, Generation: gen, Dest: m.Destination}
	if value, ok := sp.Mark(key); ok {
		rc, err := federation.ParseReceipt(value)
		if err != nil {
			return line, fmt.Errorf("lane %s: receipt of %s: %w", lane, m.Destination, err)
		}
		line.Join, line.Done, line.Counters = rc.Join, rc.Done, admin.FromCounters(rc.Counters)
	}
	for _, e := range spans.stored {
		line.Stored += above(federation.Span{First: e.First, Last: e.Last}, line.Done)
	}
	return line, nil
}

// above counts the offsets of a span that lie above done.
func above(s federation.Span, done federation.Offset) uint64 {
	first := max(s.First, done+1)
	if first > s.Last {
		return 0
	}
	return uint64(s.Last - first + 1)
}
