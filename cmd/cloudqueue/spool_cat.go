package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

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
	var generation, from, segment uint64
	var count int
	c := &cobra.Command{
		Use:   "cat LANE",
		Short: "Print the messages of a lane that a store holds, without changing it",
		Long: `Print the messages of a lane as the store holds them, one a line. With -o json each line is an object that has the
body and the raw properties in base64 too. It ends with code 1 when there is none.

With --segment it prints every record of a segment instead, also those that do not count, and where no good group stands.`,
		Example: `  cloudqueue spool cat ams/orders --from 120 --count 10
  cloudqueue spool cat ams/orders -o json | jq -r '.body | @base64d'
  cloudqueue spool cat --segment 17`,
		Args: func(c *cobra.Command, given []string) error {
			if c.Flags().Changed("segment") {
				return args(0, 0, "")(c, given)
			}
			return args(1, 1, "the lane")(c, given)
		},
		RunE: func(c *cobra.Command, given []string) error {
			if c.Flags().Changed("segment") {
				return a.catSegment(c.Context(), store, segment)
			}
			lane, err := parseLane(given[0], given[0]+" goes after --store; lanes are listed by `cloudqueue spool ls`",
				"lanes are listed by `cloudqueue spool ls`")
			if err != nil {
				return err
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
	c.Flags().Uint64Var(&segment, "segment", 0, "print the records of this segment")
	return c
}

// parseLane reads a lane's name; fixURL says where a store's URL in its place belongs.
func parseLane(text, fixURL, fix string) (federation.Lane, error) {
	if strings.Contains(text, "://") {
		return federation.Lane{}, fail(exitUsage, fixURL, "the lane is missing")
	}
	lane, err := federation.ParseLane(text)
	if err != nil {
		return lane, fail(exitUsage, fix, "%w", err)
	}
	return lane, nil
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
	if at.generation == 0 {
		return fail(exitNo, "see `cloudqueue spool ls` for the lanes that it holds", "the store holds nothing of %s",
			at.lane)
	}
	if printed == 0 {
		return fail(exitNo, "see `cloudqueue spool ls` for what it holds",
			"the store holds no message of %s, generation %d, from offset %d on", at.lane, at.generation, at.offset)
	}
	return nil
}

func latestGeneration(sp *spool.Spool, lane federation.Lane) (latest federation.Generation) {
	for _, e := range sp.ExtentsOf(lane) {
		latest = max(latest, e.Generation)
	}
	return latest
}

func (a *app) catBatch(batch *federation.Batch, coder *federation.Coder, from federation.Offset,
	most int) (printed int, err error) {
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

var entryKinds = map[federation.EntryKind]string{
	federation.EntryMessage:   "message",
	federation.EntryFragment:  "fragment",
	federation.EntryTombstone: "tombstone",
}

func newStoredEntry(offset federation.Offset, sealed time.Time, e federation.Entry) storedEntry {
	return storedEntry{Offset: offset, Kind: entryKinds[e.Kind], Ingested: sealed.Add(-e.Age),
		Exchange: e.Message.Exchange, RoutingKey: e.Message.RoutingKey,
		Duplicate: e.Flags&federation.EntryDuplicate != 0, Properties: e.Message.Properties, Body: e.Message.Body,
		Bytes: len(e.Message.Body), Reason: e.Reason}
}

func (a *app) catEntry(e storedEntry) error {
	switch a.output {
	case "json":
		return json.NewEncoder(a.out).Encode(e)
	case "yaml":
		fmt.Fprintln(a.out, "---")
		return writeYAML(a.out, e)
	}
	_, err := fmt.Fprintf(a.out, "%d  %s  %s  %q %q  %d bytes%s\n", e.Offset,
		e.Ingested.UTC().Format("2006-01-02T15:04:05.000Z"), e.Kind, e.Exchange, e.RoutingKey,
		e.Bytes, map[bool]string{true: "  duplicate"}[e.Duplicate])
	return err
}

// storedRecord is one record of a segment.
type storedRecord struct {
	LSN     federation.LSN `json:"lsn"`
	Durable federation.LSN `json:"durable_lsn"`
	Offset  int64          `json:"offset"`
	Type    string         `json:"type"`
	Bytes   int            `json:"bytes"`
	What    string         `json:"what"`
}

// catSegment prints records as they are read: a segment may be large.
func (a *app) catSegment(ctx context.Context, store string, number uint64) error {
	place, err := a.findStore(store)
	if err != nil {
		return err
	}
	segments, err := localdir.Open(place.dir)
	if err != nil {
		return err
	}
	err = spool.Walk(ctx, segments, number, func(e spool.WalkedRecord) error {
		return a.catRecord(storedRecord{e.LSN, e.Durable, e.Position, e.Type, e.Bytes, recordText(e)})
	}, func(c *spool.CorruptError) {
		// the next line fails as well
		_ = a.catRecord(storedRecord{LSN: c.LSN, Offset: c.Offset, Type: "CORRUPT", What: c.What})
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fail(exitNo, "see `cloudqueue spool ls --segments`", "the store has no segment %d", number)
	}
	return errors.Join(err, segments.Close())
}

func (a *app) catRecord(r storedRecord) error {
	switch a.output {
	case "json":
		return json.NewEncoder(a.out).Encode(r)
	case "yaml":
		fmt.Fprintln(a.out, "---")
		return writeYAML(a.out, r)
	}
	_, err := fmt.Fprintf(a.out, "LSN %d  byte %d  %s  %d bytes  %s\n", r.LSN, r.Offset, r.Type, r.Bytes,
		printable(r.What))
	return err
}

var markKinds = map[federation.MarkKind]string{
	federation.MarkJournal:  "journal",
	federation.MarkReceipt:  "receipt",
	federation.MarkLane:     "lane",
	federation.MarkLaneHigh: "highest offset",
	federation.MarkPeer:     "peer",
	federation.MarkDest:     "destination",
	federation.MarkVoid:     "void",
	federation.MarkOwner:    "owner",
	federation.MarkOpenings: "openings",
}

// markText names a mark by its kind and the parts of its key that are used: "journal ams/orders@1764534000000>nyc".
func markText(k federation.MarkKey) string {
	text, known := markKinds[k.Kind]
	if !known {
		text = fmt.Sprintf("kind %d", k.Kind)
	}
	if k.Lane != (federation.Lane{}) {
		text += " " + k.Lane.String()
	}
	if k.Generation != 0 {
		text += fmt.Sprintf("@%d", k.Generation)
	}
	if k.Dest != (federation.Destination{}) {
		text += ">" + k.Dest.String()
	}
	return text
}

// recordText says what a record holds, in one line.
func recordText(e spool.WalkedRecord) string {
	switch r := e.Record.(type) {
	case spool.BatchRecord:
		return fmt.Sprintf("%s to %d", r.Batch.Header.Name(), r.Batch.Header.Last())
	case spool.MarkRecord:
		return fmt.Sprintf("%s, first written in group %d", markText(r.Key), e.Own)
	case spool.ParkRecord:
		return fmt.Sprintf("%s@%d:%d>%s %s", r.Lane, r.Generation, r.Offset, r.Destination, r.Reason)
	case spool.UnparkRecord:
		return fmt.Sprintf("%s@%d:%d>%s %s by %s: %s", r.Park.Lane, r.Park.Generation, r.Park.Offset,
			r.Park.Destination, r.Outcome, r.Who, r.Why)
	case spool.AuditRecord:
		return fmt.Sprintf("%s at %s: %s", r.Who, r.At.UTC().Format(time.RFC3339), r.What)
	}
	return e.Text
}
