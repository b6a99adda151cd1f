package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/router/admin"
)

func (a *app) statusCommand() *cobra.Command {
	var watch, parkedOK bool
	var interval time.Duration
	c := &cobra.Command{
		Use:   "status",
		Short: "Show every lane and link: state, reason, since when, what to type",
		Long: `Show what the local router knows of itself. What needs attention stands first, each with its reason, since
when, and what to do. It ends with code 0 when nothing needs attention, with 1 when something does. Parked messages need
it: they stay until a person redrives or drops them. With --parked-ok they are shown and do not count, for a probe that
watches their number besides: status -o json | jq .parking.messages

PARKED of a lane counts what was ever parked of it, also at its origin and also what was redriven or dropped since.
What is parked at this site now stands in the section PARKED, and in cloudqueue parking list.

With --watch it shows again and again until Ctrl-C; with -o json each answer is one line.`,
		Example: `  cloudqueue status
  cloudqueue status --watch --interval 1s
  cloudqueue status -o json | jq '.links[] | {peer, state, reason}'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if interval < 100*time.Millisecond {
				return fail(exitUsage, "write for example --interval 2s", "the interval %v is below 100ms", interval)
			}
			if watch {
				return a.watchStatus(c.Context(), interval)
			}
			return a.showStatus(c.Context(), parkedOK)
		},
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "show again and again")
	c.Flags().BoolVar(&parkedOK, "parked-ok", false, "parked messages alone give code 0")
	c.Flags().DurationVar(&interval, "interval", 2*time.Second, "time between two looks, with --watch")
	return c
}

func (a *app) showStatus(ctx context.Context, parkedOK bool) error {
	status, err := a.status(ctx)
	if err != nil {
		return err
	}
	if err := a.printFixes(status, func(w io.Writer) { writeStatus(w, status) }); err != nil {
		return err
	}
	if parkedOK {
		status.Parking.State = admin.Running
	}
	if len(status.Problems()) > 0 {
		return errNo
	}
	return nil
}

func (a *app) status(ctx context.Context) (*admin.Status, error) {
	return ask(ctx, a, func(ctx context.Context, c *admin.Client) (*admin.Status, error) { return c.Status(ctx) })
}

// watchStatus goes on when the router is away: that is when somebody watches.
func (a *app) watchStatus(ctx context.Context, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		status, err := a.status(ctx)
		if f := classify(err); err != nil && f.code == exitUsage {
			return err // it will not mend itself
		}
		if ctx.Err() != nil {
			return nil
		}
		if err := a.showAgain(status, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

const clearScreen = "\x1b[H\x1b[2J\x1b[3J"

func (a *app) showAgain(status *admin.Status, err error) error {
	if isTerminal(a.out) && a.output == "table" {
		fmt.Fprint(a.out, clearScreen)
	}
	switch {
	case err != nil:
		a.report(err)
		return nil
	case a.output == "json":
		return json.NewEncoder(a.out).Encode(status) // one line each
	case a.output == "yaml":
		fmt.Fprintln(a.out, "---")
	}
	return a.printFixes(status, func(w io.Writer) { writeStatus(w, status) })
}
