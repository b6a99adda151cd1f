package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

func (a *app) spoolVoid() *cobra.Command {
	request := admin.VoidRequest{}
	var yes, corrupt bool
	var why, store string
	c := &cobra.Command{
		Use:   "void LANE FIRST-LAST",
		Short: "Abandon offsets of a lane for ever, so that what follows them can go on",
		Long: `Abandon offsets that can never be delivered: corrupt at their origin, or for a destination that will not come back.
They are counted as voided, and the audit keeps who and why. The router of the lane's origin does it.

With --corrupt it abandons what is corrupt in the store itself, without a router: use it when a router does not start
because of it, or when lanes are held because nobody knows what a corrupt stretch held. Put the segment back from a
backup instead, if there is one.

Without --yes it only says what would be abandoned, and ends with code 4.`,
		Example: `  cloudqueue spool void ams/orders 120-135 --reason corrupt
  cloudqueue spool void ams/orders 120-135 --reason detach --to sin --yes
  cloudqueue spool void --corrupt --why 'disk replaced, no backup' --yes`,
		Args: func(c *cobra.Command, given []string) error {
			if corrupt {
				return noArgs(c, given)
			}
			return args(2, 2, "the lane, and the first and last offset,")(c, given)
		},
		RunE: func(c *cobra.Command, given []string) error {
			if corrupt {
				return a.voidCorrupt(c.Context(), store, why, yes)
			}
			span, err := parseSpan(given[1])
			if err != nil {
				return err
			}
			if _, err := parseLane(given[0],
				"name the router with --config or --socket; lanes are listed by `cloudqueue status`",
				"lanes are listed by `cloudqueue status`"); err != nil {
				return err
			}
			request.Lane, request.First, request.Last, request.DryRun = given[0], span.First, span.Last, !yes
			return a.void(c.Context(), request)
		},
	}
	c.Flags().StringVar(&request.Reason, "reason", "", "corrupt, detach or recovery")
	complete(c, "reason", federation.VoidReasons()...)
	c.Flags().StringSliceVar(&request.Destinations, "to", nil, "only for these destinations (default: all)")
	c.Flags().Uint64Var((*uint64)(&request.Generation), "generation", 0,
		"the lane's generation (default: the present one)")
	c.Flags().BoolVar(&corrupt, "corrupt", false, "what is corrupt in the store itself")
	c.Flags().StringVar(&store, "store", "", "the store's URL, with --corrupt (default: the one in --config)")
	c.Flags().StringVar(&why, "why", "", "the reason for the audit, with --corrupt")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

// voidCorrupt abandons what is corrupt in a store that no router has.
func (a *app) voidCorrupt(ctx context.Context, store, why string, yes bool) error {
	if why == "" {
		return fail(exitUsage, "add --why 'the reason'", "abandoning what is corrupt needs a reason for the audit")
	}
	place, err := a.findOwnStore(ctx, store)
	if err != nil {
		return err
	}
	var found []*spool.CorruptError
	if yes {
		found, err = place.acceptCorrupt(ctx, spool.Word{Who: author(), Why: why})
	} else {
		found, err = place.corrupt(ctx)
	}
	if err != nil {
		return err
	}
	if err := a.showCorrupt(found, !yes); err != nil || len(found) == 0 {
		return err
	}
	return needsYes(!yes)
}

// corruptView is one stretch.
type corruptView struct {
	Segment uint64         `json:"segment"`
	Offset  int64          `json:"offset"`
	First   federation.LSN `json:"first_lsn"`
	Last    federation.LSN `json:"last_lsn"`
	What    string         `json:"what"`
	Batch   string         `json:"batch,omitempty"`
	Marks   bool           `json:"marks"`
}

func corruptViews(found []*spool.CorruptError) []corruptView {
	views := make([]corruptView, len(found))
	for i, c := range found {
		views[i] = corruptView{Segment: c.Segment, Offset: c.Offset, First: c.LSN, Last: c.Last, What: c.What,
			Marks: c.Marks}
		if c.Batch.Lane != (federation.Lane{}) {
			views[i].Batch = c.Batch.String()
		}
	}
	return views
}

func (a *app) showCorrupt(found []*spool.CorruptError, dryRun bool) error {
	return a.printFixes(corruptViews(found), func(w io.Writer) {
		if len(found) == 0 {
			fmt.Fprintln(w, "nothing is corrupt in the store; which offsets to abandon of a lane that is held all the same is in: cloudqueue status")
			return
		}
		g := newGrid(">SEGMENT", ">BYTE", "GROUPS", "WHAT", "BATCH")
		for _, c := range corruptViews(found) {
			g.add(c.Segment, c.Offset, fmt.Sprintf("%d-%d", c.First, c.Last), c.What, orDash(c.Batch))
		}
		g.write(w)
		fmt.Fprintf(w, "\n%s %s\n", count(len(found), "stretch"), abandoned(dryRun))
	})
}

// parseSpan reads 120-135 or 120.
func parseSpan(text string) (federation.Span, error) {
	low, high, ranged := strings.Cut(text, "-")
	if !ranged {
		high = low
	}
	from, errFrom := strconv.ParseUint(low, 10, 64)
	to, errTo := strconv.ParseUint(high, 10, 64)
	if errFrom != nil || errTo != nil || from == 0 || to < from {
		return federation.Span{}, fail(exitUsage, "write the first and the last offset, for example 120-135",
			"%q is not a span of offsets", text)
	}
	return federation.Span{First: federation.Offset(from), Last: federation.Offset(to)}, nil
}

func (a *app) void(ctx context.Context, request admin.VoidRequest) error {
	if !slices.Contains(federation.VoidReasons(), request.Reason) {
		return fail(exitUsage, "add --reason corrupt, --reason detach or --reason recovery",
			"%q is not a reason to void", request.Reason)
	}
	result, err := ask(ctx, a, func(ctx context.Context, r *admin.Client) (*admin.VoidResult, error) {
		return r.Void(ctx, request)
	})
	if err != nil {
		return err
	}
	if err := a.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s %d-%d of generation %d: %s %s\n", request.Lane, request.First, request.Last,
			result.Generation, count(int(result.Messages), "message"), abandoned(request.DryRun))
	}); err != nil {
		return err
	}
	return needsYes(request.DryRun)
}

func abandoned(dryRun bool) string {
	if dryRun {
		return "to be abandoned"
	}
	return "abandoned"
}

// needsYes ends a dry run.
func needsYes(dryRun bool) error {
	if dryRun {
		return fail(exitRefused, "add --yes to do it", "nothing was done")
	}
	return nil
}
