package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"cloudqueue/router/spool"
)

// Dump tells everything that stands in a place's segments, for failures of tests.
func Dump(place Place) string {
	var b strings.Builder
	ctx := context.Background()
	store, err := place.Open()
	if err != nil {
		return err.Error()
	}
	infos, err := store.List(ctx)
	if err != nil {
		return err.Error()
	}
	for _, info := range infos {
		fmt.Fprintf(&b, "segment %d, %d bytes\n", info.Number, info.Size)
		err := spool.Walk(ctx, store, info.Number, func(e spool.WalkedRecord) error {
			fmt.Fprintf(&b, "  group %d (durable %d) at %d: %s %s %s\n", e.LSN, e.Durable, e.Position, e.Type, e.Text, describe(e.Record))
			return nil
		}, func(c *spool.CorruptError) { fmt.Fprintf(&b, "  %v\n", c) })
		if err != nil {
			fmt.Fprintf(&b, "  %v\n", err)
		}
	}
	return b.String()
}

// digest tells whether the same stands in two places.
type digest [sha256.Size]byte

// epochs are drawn from the clock: they differ from life to life of one script.
var epochs = regexp.MustCompile(`epoch \d+`)

// digestOf is of all that Dump tells.
func digestOf(place Place) digest {
	return sha256.Sum256([]byte(epochs.ReplaceAllString(Dump(place), "")))
}

func describe(r spool.Record) string {
	switch r := r.(type) {
	case spool.BatchRecord:
		return r.Batch.Header.Name().String()
	case spool.MarkRecord:
		return fmt.Sprintf("%s %q", r.Key.Lane, r.Value)
	case spool.ParkRecord:
		return fmt.Sprintf("%s %d", r.Lane, r.Offset)
	case spool.UnparkRecord:
		return fmt.Sprintf("%s %d", r.Park.Lane, r.Park.Offset)
	case spool.AuditRecord:
		return r.What
	}
	return ""
}
