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
// side (receipts) and on the destination's (journals). It works on a store that is only read, whosever it is.
func Books(sp *spool.Spool, offline bool) (*admin.Books, error) {
	id := sp.Identity()
	out := &admin.Books{At: time.Now(), Site: string(id.Home.Site), Federation: id.Home.Federation, Store: id.Store.String(), LSN: sp.LastLSN(), Offline: offline}
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
		line.Misplaced = key.Dest.Site != id.Home.Site
		line.ParkedHere = parked[inGeneration{inKey{key.Lane, key.Dest}, key.Generation}]
		out.Lines = append(out.Lines, line)
	}
	for key, value := range sp.Marks(federation.MarkLane) {
		lines, err := originLines(sp, key.Lane, value)
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			line.Misplaced = key.Lane.Origin != id.Home.Site
			out.Lines = append(out.Lines, line)
		}
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
	assigned, err := storedNumbering(sp, lane, mark)
	if err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(sp.Extents(), func(e spool.Extent) bool { return e.Lane != lane || e.Generation != mark.Generation })
	var out []admin.BookLine
	for _, m := range mark.Members {
		line, err := originLine(sp, lane, mark.Generation, m, assigned, stored)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

func originLine(sp *spool.Spool, lane federation.Lane, gen federation.Generation, m federation.Membership, assigned numbering, stored []spool.Extent) (admin.BookLine, error) {
	line := admin.BookLine{Side: admin.Origin, Lane: lane.String(), Generation: gen, Destination: m.Destination.String(), Join: m.Join, Done: m.Join - 1,
		LastAssigned: assigned.last}
	if m.Leave != 0 {
		line.LastAssigned = m.Leave
	}
	rc, has, err := storedReceipt(sp, lane, gen, m.Destination)
	if err != nil {
		return line, err
	}
	if has {
		line.Join, line.Done, line.Counters = rc.Join, rc.Done, admin.FromCounters(rc.Counters)
	}
	for _, e := range stored {
		line.Stored += above(federation.Span{First: e.First, Last: e.Last}, line.Done)
	}
	line.StoredVoided = voidedAlone(assigned.voids, m.Destination, stored, line.Done)
	return line, nil
}

// voidedAlone counts the offsets above done that were given up for a destination and of which nothing is stored.
func voidedAlone(voids []federation.Void, d federation.Destination, stored []spool.Extent, done federation.Offset) uint64 {
	alone := federation.NewSpanSet(len(voids) + len(stored) + 1) // each extent adds a gap at most
	for _, v := range voids {
		if len(v.Destinations) == 0 || slices.Contains(v.Destinations, d) {
			alone.Add(v.Span)
		}
	}
	for _, e := range stored {
		alone.Remove(federation.Span{First: e.First, Last: e.Last})
	}
	alone.RemoveUpTo(done)
	return alone.Count()
}

// above counts the offsets of a span that lie above done.
func above(s federation.Span, done federation.Offset) uint64 {
	first := max(s.First, done+1)
	if first > s.Last {
		return 0
	}
	return uint64(s.Last - first + 1)
}
