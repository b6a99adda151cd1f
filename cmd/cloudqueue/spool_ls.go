package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// storeListing is what `spool ls` shows.
type storeListing struct {
	URL      string           `json:"url"`
	ID       string           `json:"id"`
	Born     time.Time        `json:"born"`
	Epoch    federation.Epoch `json:"epoch"`
	LSN      federation.LSN   `json:"lsn"`
	Used     uint64           `json:"used_bytes"`
	Free     uint64           `json:"free_bytes"`
	Lanes    []storedLane     `json:"lanes"`
	Parked   int              `json:"parked"`
	Segments []storedSegment  `json:"segments"`
	Corrupt  []corruptView    `json:"corrupt"`
}

type storedLane struct {
	Lane       string                `json:"lane"`
	Generation federation.Generation `json:"generation"`
	First      federation.Offset     `json:"first"`
	Last       federation.Offset     `json:"last"`
	Batches    uint64                `json:"batches"`
	Bytes      uint64                `json:"bytes"`
}

type storedSegment struct {
	Number  uint64           `json:"number"`
	Epoch   federation.Epoch `json:"epoch"`
	Created time.Time        `json:"created"`
	Bytes   uint64           `json:"bytes"`
	Live    uint64           `json:"live_bytes"`
	First   federation.LSN   `json:"first_lsn"`
	Last    federation.LSN   `json:"last_lsn"`
	State   string           `json:"state"` // whole, open, broken
}

func newStoredSegment(s spool.SegmentStatus) storedSegment {
	state := "open"
	switch {
	case s.Broken:
		state = "broken"
	case s.Footer:
		state = "whole"
	}
	return storedSegment{s.Number, s.Epoch, s.Created, s.Bytes, s.Live, s.First, s.Last, state}
}

func (a *app) spoolLs() *cobra.Command {
	var segments bool
	c := &cobra.Command{
		Use:   "ls [URL]",
		Short: "List what a store holds, without changing it",
		Long: `List the lanes that a store holds batches of, without a claim: it works beside a running router too, as of the moment
of reading.

` + storeHelp,
		Example: `  cloudqueue spool ls --segments
  cloudqueue spool ls file:///mnt/backup/spool -o json`,
		Args: args(0, 1, "the store's URL"),
		RunE: func(c *cobra.Command, given []string) error {
			place, err := a.findStore(first(given))
			if err != nil {
				return err
			}
			listing, err := place.list(c.Context())
			if err != nil {
				return err
			}
			return a.print(listing, func(w io.Writer) { writeListing(w, listing, segments) })
		},
	}
	c.Flags().BoolVar(&segments, "segments", false, "list the segments too")
	return c
}

func (p storePlace) list(ctx context.Context) (*storeListing, error) {
	listing := &storeListing{URL: p.url()}
	return listing, p.read(ctx, func(sp *spool.Spool) error {
		id, usage := sp.Identity(), sp.Usage()
		listing.ID, listing.Born, listing.Epoch, listing.LSN = id.Store.String(), id.Born, id.Epoch, sp.LastLSN()
		listing.Used, listing.Free, listing.Parked = usage.Used, usage.Free, len(sp.Parked())
		for _, e := range sp.Extents() {
			listing.Lanes = append(listing.Lanes, storedLane{e.Lane.String(), e.Generation, e.First, e.Last, e.Batches,
				e.Bytes})
		}
		for _, segment := range sp.Segments() {
			listing.Segments = append(listing.Segments, newStoredSegment(segment))
		}
		listing.Corrupt = corruptViews(sp.Corrupt())
		slices.SortFunc(listing.Lanes, func(a, b storedLane) int {
			return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Generation, b.Generation))
		})
		return nil
	})
}

func writeListing(w io.Writer, l *storeListing, segments bool) {
	fmt.Fprintf(w, "%s: store %s, born %s, epoch %d, LSN %d, used %s, free %s, %s, %s parked\n",
		l.URL, l.ID, l.Born.UTC().Format(time.RFC3339), l.Epoch, l.LSN, bytesText(l.Used), bytesText(l.Free),
		count(len(l.Segments), "segment"), count(l.Parked, "message"))
	g := newGrid("LANE", "GENERATION", ">FIRST", ">LAST", ">BATCHES", ">BYTES")
	for _, lane := range l.Lanes {
		g.add(lane.Lane, lane.Generation, lane.First, lane.Last, lane.Batches, bytesText(lane.Bytes))
	}
	g.section(w, "LANES")
	g = newGrid(">SEGMENT", ">BYTES", ">LIVE", ">FIRST LSN", ">LAST LSN", "STATE", "CREATED", "EPOCH")
	for _, s := range l.Segments {
		if segments || s.State == "broken" {
			g.add(s.Number, bytesText(s.Bytes), bytesText(s.Live), s.First, s.Last, s.State,
				s.Created.UTC().Format(time.RFC3339), s.Epoch)
		}
	}
	g.section(w, "SEGMENTS")
	g = newGrid(">SEGMENT", ">BYTE", "GROUPS", "WHAT", "BATCH")
	for _, c := range l.Corrupt {
		g.add(c.Segment, c.Offset, fmt.Sprintf("%d-%d", c.First, c.Last), c.What, orDash(c.Batch))
	}
	g.section(w, "CORRUPT")
}
