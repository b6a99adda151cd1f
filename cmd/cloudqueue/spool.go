package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

func (a *app) spoolCommand() *cobra.Command {
	return group("spool", "Make, look at and repair the store of a site",
		`  cloudqueue spool init file:///var/lib/cloudqueue/spool
  cloudqueue spool ls
  cloudqueue spool cat ams/orders --from 120 --count 10`,
		a.spoolInit(), a.spoolLs(), a.spoolCat(), a.spoolReseal(), a.spoolNewID(), a.spoolVoid())
}

const storeHelp = `The store is the one in --config, or the URL that is given.`

// first is the optional argument.
func first(given []string) string {
	if len(given) == 0 {
		return ""
	}
	return given[0]
}

// storeIdentity is what init and new-id print.
type storeIdentity struct {
	URL    string    `json:"url"`
	ID     string    `json:"id"`
	Former string    `json:"former_id,omitempty"`
	Born   time.Time `json:"born,omitzero"`
}

func (a *app) spoolInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [URL]",
		Short: "Make an empty store: mint its id and its birth",
		Long: `Make an empty store in an empty or missing folder. A router never does this by itself: a disk that was not mounted
would look like a new site.

` + storeHelp,
		Example: "  cloudqueue spool init file:///var/lib/cloudqueue/spool",
		Args:    args(0, 1, "the store's URL"),
		RunE: func(_ *cobra.Command, given []string) error {
			place, err := a.findStore(first(given))
			if err != nil {
				return err
			}
			id, err := localdir.Init(place.dir, time.Now())
			if err != nil {
				return refusedOr(err, localdir.ErrNotEmpty)
			}
			return a.print(storeIdentity{URL: place.url(), ID: id.Store.String(), Born: id.Born}, func(w io.Writer) {
				fmt.Fprintf(w, "%s: store %s, born %s\n", place.url(), id.Store, id.Born.Format(time.RFC3339))
			})
		},
	}
}

func (a *app) spoolNewID() *cobra.Command {
	return &cobra.Command{
		Use:   "new-id [URL]",
		Short: "Make a store of its own out of a copy",
		Long: `Give a store another id and birth. Use it on the copy, when status says "store cloned" because a store was copied
and both are in use. Peers regard it as a new store of the site. No router may use it meanwhile. A copy that holds lanes
of its own is resealed next.

` + storeHelp,
		Example: "  cloudqueue spool new-id file:///var/lib/cloudqueue/spool",
		Args:    args(0, 1, "the store's URL"),
		RunE: func(_ *cobra.Command, given []string) error {
			place, err := a.findStore(first(given))
			if err != nil {
				return err
			}
			ids, err := localdir.NewID(place.dir, time.Now())
			if err != nil {
				return err
			}
			return a.print(storeIdentity{URL: place.url(), ID: ids.New.String(), Former: ids.Old.String()}, func(w io.Writer) {
				fmt.Fprintf(w, "%s: store %s, formerly %s\nnext: cloudqueue spool reseal --why REASON\n", place.url(), ids.New, ids.Old)
			})
		},
	}
}

func (a *app) spoolVoid() *cobra.Command {
	request := admin.VoidRequest{}
	var yes, corrupt bool
	var why, store string
	c := &cobra.Command{
		Use:   "void LANE FIRST-LAST",
		Short: "Give offsets of a lane up for ever, so that what follows them can go on",
		Long: `Give offsets up that can never be delivered: corrupt at their origin, or for a destination that will not come back.
They are counted as voided, and the audit keeps who and why. The router of the lane's origin does it.

With --corrupt it gives up what is corrupt in the store itself, without a router: use it when a router does not start
because of it, or when lanes are held because nobody knows what a corrupt stretch held. Put the segment back from a
backup instead, if there is one.

Without --yes it only says what would be given up, and ends with code 4.`,
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
			if _, err := federation.ParseLane(given[0]); err != nil {
				return fail(exitUsage, "lanes are listed by `cloudqueue status`", "%w", err)
			}
			request.Lane, request.First, request.Last, request.DryRun = given[0], span.First, span.Last, !yes
			return a.void(c.Context(), request)
		},
	}
	c.Flags().StringVar(&request.Reason, "reason", "", "corrupt, detach or recovery")
	c.Flags().StringSliceVar(&request.Destinations, "to", nil, "only for these destinations (default: all)")
	c.Flags().Uint64Var((*uint64)(&request.Generation), "generation", 0, "the lane's generation (default: the present one)")
	c.Flags().BoolVar(&corrupt, "corrupt", false, "what is corrupt in the store itself")
	c.Flags().StringVar(&store, "store", "", "the store's URL, with --corrupt (default: the one in --config)")
	c.Flags().StringVar(&why, "why", "", "the reason for the audit, with --corrupt")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

// voidCorrupt gives up what is corrupt in a store that no router has.
func (a *app) voidCorrupt(ctx context.Context, store, why string, yes bool) error {
	if why == "" {
		return fail(exitUsage, "add --why 'the reason'", "giving up what is corrupt needs a reason for the audit")
	}
	place, err := a.findStore(store)
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
		views[i] = corruptView{Segment: c.Segment, Offset: c.Offset, First: c.LSN, Last: c.Last, What: c.What, Marks: c.Marks}
		if c.Batch.Lane != (federation.Lane{}) {
			views[i].Batch = c.Batch.String()
		}
	}
	return views
}

func (a *app) showCorrupt(found []*spool.CorruptError, dryRun bool) error {
	return a.print(corruptViews(found), func(w io.Writer) {
		if len(found) == 0 {
			fmt.Fprintln(w, "nothing is corrupt in the store")
			return
		}
		g := newGrid(">SEGMENT", ">BYTE", "GROUPS", "WHAT", "BATCH")
		for _, c := range corruptViews(found) {
			g.add(c.Segment, c.Offset, fmt.Sprintf("%d-%d", c.First, c.Last), c.What, orDash(c.Batch))
		}
		g.write(w)
		fmt.Fprintf(w, "\n%s %s\n", count(len(found), "stretch"), given(dryRun))
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
		return federation.Span{}, fail(exitUsage, "write the first and the last offset, for example 120-135", "%q is no span of offsets", text)
	}
	return federation.Span{First: federation.Offset(from), Last: federation.Offset(to)}, nil
}

var voidReasons = map[string]bool{"corrupt": true, "detach": true, "recovery": true}

func (a *app) void(ctx context.Context, request admin.VoidRequest) error {
	if !voidReasons[request.Reason] {
		return fail(exitUsage, "add --reason corrupt, --reason detach or --reason recovery", "%q is no reason to void", request.Reason)
	}
	result, err := ask(ctx, a, func(ctx context.Context, r *admin.Client) (*admin.VoidResult, error) { return r.Void(ctx, request) })
	if err != nil {
		return err
	}
	if err := a.print(result, func(w io.Writer) {
		fmt.Fprintf(w, "%s %d-%d of generation %d: %s %s\n", request.Lane, request.First, request.Last, result.Generation, count(int(result.Messages), "message"), given(request.DryRun))
	}); err != nil {
		return err
	}
	return needsYes(request.DryRun)
}

func given(dryRun bool) string {
	if dryRun {
		return "to be given up"
	}
	return "given up"
}

// needsYes ends a dry run.
func needsYes(dryRun bool) error {
	if dryRun {
		return fail(exitRefused, "add --yes to do it", "nothing was done")
	}
	return nil
}

func (a *app) spoolReseal() *cobra.Command {
	request := admin.ResealRequest{}
	var yes bool
	c := &cobra.Command{
		Use:   "reseal",
		Short: "After a store was put back: seal what has no receipt again, under a new generation, flagged",
		Long: `Use it when status says "store rewound" (the store is older than what a peer has seen of it: a backup or a snapshot was
put back), and after new-id on a copy. The store gets another id. What its lanes hold without a receipt is sealed again
under a new generation, flagged, because nobody knows what of it was delivered; as a destination it begins where the
origins say. The router must be stopped.

Without --yes it only says what would be sealed again, and ends with code 4.`,
		Example: `  cloudqueue spool reseal --why 'disk restored from the backup of Monday'
  cloudqueue spool reseal --why 'disk restored from the backup of Monday' --yes`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if request.Why == "" {
				return fail(exitUsage, "add --why 'the reason'", "a reseal needs a reason for the audit")
			}
			config, err := site.ReadConfig(a.configPath)
			if err != nil {
				return err
			}
			request.Who, request.DryRun = author(), !yes
			result, err := a.parts.reseal(c.Context(), config, request, newLogger(a.errs, config.Log))
			if err != nil {
				return err
			}
			return a.showReseal(result)
		},
	}
	c.Flags().StringVar(&request.Why, "why", "", "the reason, for the audit")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

func (a *app) showReseal(result *admin.ResealResult) error {
	if err := a.print(result, func(w io.Writer) {
		g := newGrid("LANE", ">GENERATION", ">NEW GENERATION", ">MESSAGES")
		for _, l := range result.Lanes {
			g.add(l.Lane, l.Old, l.Generation, l.Messages)
		}
		g.write(w)
	}); err != nil {
		return err
	}
	return needsYes(!result.Durable)
}
