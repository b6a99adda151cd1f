package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
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
	Number uint64 `json:"number"`
	Bytes  int64  `json:"bytes"`
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
	if err := listing.addSegments(ctx, p.dir); err != nil {
		return nil, err
	}
	return listing, p.read(ctx, func(sp *spool.Spool) error {
		id, usage := sp.Identity(), sp.Usage()
		listing.ID, listing.Born, listing.Epoch, listing.LSN = id.Store.String(), id.Born, id.Epoch, sp.LastLSN()
		listing.Used, listing.Free, listing.Parked = usage.Used, usage.Free, len(sp.Parked())
		for _, e := range sp.Extents() {
			listing.Lanes = append(listing.Lanes, storedLane{e.Lane.String(), e.Generation, e.First, e.Last, e.Batches, e.Bytes})
		}
		slices.SortFunc(listing.Lanes, func(a, b storedLane) int {
			return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Generation, b.Generation))
		})
		return nil
	})
}

func (l *storeListing) addSegments(ctx context.Context, dir string) error {
	segments, err := localdir.Open(dir)
	if err != nil {
		return err
	}
	infos, err := segments.List(ctx)
	for _, info := range infos {
		l.Segments = append(l.Segments, storedSegment{info.Number, info.Size})
	}
	return errors.Join(err, segments.Close())
}

func writeListing(w io.Writer, l *storeListing, segments bool) {
	fmt.Fprintf(w, "%s: store %s, born %s, epoch %d, LSN %d, used %s, free %s, %d segments, %d messages parked\n",
		l.URL, l.ID, l.Born.UTC().Format(time.RFC3339), l.Epoch, l.LSN, bytesText(l.Used), bytesText(l.Free), len(l.Segments), l.Parked)
	g := newGrid("LANE", "GENERATION", ">FIRST", ">LAST", ">BATCHES", ">BYTES")
	for _, lane := range l.Lanes {
		g.add(lane.Lane, lane.Generation, lane.First, lane.Last, lane.Batches, bytesText(lane.Bytes))
	}
	g.section(w, "LANES")
	if !segments {
		return
	}
	g = newGrid(">SEGMENT", ">BYTES")
	for _, s := range l.Segments {
		g.add(s.Number, bytesText(uint64(s.Bytes)))
	}
	g.section(w, "SEGMENTS")
}

// storedEntry is one line of `spool cat`.
type storedEntry struct {
	Offset     federation.Offset `json:"offset"`
	Kind       string            `json:"kind"`
	Ingested   time.Time         `json:"ingested"`
	Exchange   string            `json:"exchange"`
	RoutingKey string            `json:"routing_key"`
	Duplicate  bool              `json:"duplicate,omitempty"`
	Properties []byte            `json:"raw_properties,omitempty"`
	Body       []byte            `json:"body,omitempty"`
	Bytes      int               `json:"body_bytes"`
	Reason     string            `json:"reason,omitempty"` // of a tombstone
}

func (a *app) spoolCat() *cobra.Command {
	var store string
	var generation, from uint64
	var count int
	c := &cobra.Command{
		Use:   "cat LANE",
		Short: "Print the messages of a lane that a store holds, without changing it",
		Long: `Print the messages of a lane as the store holds them, one a line. With -o json each line is an object that has the
body and the raw properties in base64 too. It ends with code 1 when there is none.`,
		Example: `  cloudqueue spool cat ams/orders --from 120 --count 10
  cloudqueue spool cat ams/orders -o json | jq -r '.body | @base64d'`,
		Args: args(1, 1, "the lane"),
		RunE: func(c *cobra.Command, given []string) error {
			lane, err := federation.ParseLane(given[0])
			if err != nil {
				return fail(exitUsage, "lanes are listed by `cloudqueue spool ls`", "%w", err)
			}
			if count < 1 {
				return fail(exitUsage, "write for example --count 100", "--count %d is not positive", count)
			}
			place, err := a.findStore(store)
			if err != nil {
				return err
			}
			return place.read(c.Context(), func(sp *spool.Spool) error {
				at := position{lane, federation.Generation(generation), federation.Offset(max(from, 1))}
				return a.cat(c.Context(), sp, at, count)
			})
		},
	}
	c.Flags().StringVar(&store, "store", "", "the store's URL (default: the one in --config)")
	c.Flags().Uint64Var(&generation, "generation", 0, "the lane's generation (default: the latest that is stored)")
	c.Flags().Uint64Var(&from, "from", 1, "the first offset")
	c.Flags().IntVar(&count, "count", 100, "how many messages")
	return c
}

// position is where cat reads next.
type position struct {
	lane       federation.Lane
	generation federation.Generation
	offset     federation.Offset
}

func (a *app) cat(ctx context.Context, sp *spool.Spool, at position, count int) error {
	if at.generation == 0 {
		at.generation = latestGeneration(sp, at.lane)
	}
	coder, err := federation.NewCoder()
	if err != nil {
		return err
	}
	printed := 0
	for printed < count {
		batch, err := sp.Read(ctx, at.lane, at.generation, at.offset)
		if errors.Is(err, spool.ErrNone) {
			break
		}
		if err != nil {
			return err
		}
		n, err := a.catBatch(batch, coder, at.offset, count-printed)
		if err != nil {
			return err
		}
		printed, at.offset = printed+n, batch.Header.Last()+1
	}
	if printed == 0 {
		return fail(exitNo, "see `cloudqueue spool ls` for what it holds", "the store holds no message of %s, generation %d, from offset %d on", at.lane, at.generation, at.offset)
	}
	return nil
}

func latestGeneration(sp *spool.Spool, lane federation.Lane) (latest federation.Generation) {
	for _, e := range sp.Extents() {
		if e.Lane == lane {
			latest = max(latest, e.Generation)
		}
	}
	return latest
}

func (a *app) catBatch(batch *federation.Batch, coder *federation.Coder, from federation.Offset, most int) (printed int, err error) {
	entries, err := batch.Open(coder)
	if err != nil {
		return 0, fmt.Errorf("batch %s: %w", batch.Header.Name(), err)
	}
	for i, entry := range entries {
		offset := batch.Header.First + federation.Offset(i)
		if offset < from || printed == most {
			continue
		}
		if err := a.catEntry(newStoredEntry(offset, batch.Header.SealedAt, entry)); err != nil {
			return printed, err
		}
		printed++
	}
	return printed, nil
}

var entryKinds = map[federation.EntryKind]string{federation.EntryMessage: "message", federation.EntryFragment: "fragment", federation.EntryTombstone: "tombstone"}

func newStoredEntry(offset federation.Offset, sealed time.Time, e federation.Entry) storedEntry {
	return storedEntry{Offset: offset, Kind: entryKinds[e.Kind], Ingested: sealed.Add(-e.Age), Exchange: e.Message.Exchange, RoutingKey: e.Message.RoutingKey,
		Duplicate: e.Flags&federation.EntryDuplicate != 0, Properties: e.Message.Properties, Body: e.Message.Body, Bytes: len(e.Message.Body), Reason: e.Reason}
}

func (a *app) catEntry(e storedEntry) error {
	switch a.output {
	case "json":
		return json.NewEncoder(a.out).Encode(e)
	case "yaml":
		fmt.Fprintln(a.out, "---")
		return writeYAML(a.out, e)
	}
	_, err := fmt.Fprintf(a.out, "%d  %s  %s  %q %q  %d bytes%s\n", e.Offset, e.Ingested.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind, e.Exchange, e.RoutingKey,
		e.Bytes, map[bool]string{true: "  duplicate"}[e.Duplicate])
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
