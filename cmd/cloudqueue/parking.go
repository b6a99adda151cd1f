package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"cloudqueue/router/admin"
)

func (a *app) parkingCommand() *cobra.Command {
	return group("parking", "List, show, redrive and drop what could not be delivered",
		`  cloudqueue parking list --reason unroutable
  cloudqueue parking show 'ams/orders@1764534000000:120>nyc'
  cloudqueue parking redrive --reason unroutable --all
  cloudqueue parking drop 'ams/orders@1764534000000:120>nyc' --why 'test data'`,
		a.parkingList(), a.parkingShow(), a.parkingRedrive(), a.parkingDrop())
}

// filterFlags are the flags that choose parked messages.
func filterFlags(c *cobra.Command, filter *admin.ParkFilter) {
	c.Flags().StringVar(&filter.Lane, "lane", "", "only this lane, for example ams/orders")
	c.Flags().StringVar(&filter.Destination, "to", "", "only this destination, for example nyc or nyc:2")
	c.Flags().StringVar(&filter.Reason, "reason", "", "only this reason: "+strings.Join(admin.ParkReasons(), ", "))
	complete(c, "reason", admin.ParkReasons()...)
}

func (a *app) parkingList() *cobra.Command {
	filter := admin.ParkFilter{}
	c := &cobra.Command{
		Use:     "list",
		Short:   "List what is parked at this site",
		Example: "  cloudqueue parking list --lane ams/orders --limit 50",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if filter.Limit < 1 || filter.Limit > admin.MaxParkLimit {
				return fail(exitUsage, "page through more with --after", "--limit %d is not in 1 to %d", filter.Limit,
					admin.MaxParkLimit)
			}
			list, err := ask(c.Context(), a, func(ctx context.Context, r *admin.Client) (*admin.ParkedList, error) {
				return r.Parked(ctx, filter)
			})
			if err != nil {
				return err
			}
			chosen := filter.Lane+filter.Destination+filter.Reason+filter.After != ""
			return a.print(list, func(w io.Writer) { writeParked(w, list, chosen, time.Now()) })
		},
	}
	filterFlags(c, &filter)
	c.Flags().IntVar(&filter.Limit, "limit", 100, "how many to list")
	c.Flags().StringVar(&filter.After, "after", "", "go on behind this one: the last of the page before")
	return c
}

// writeParked shows a page; chosen tells whether flags chose, so that an empty one does not claim that nothing is
// parked.
func writeParked(w io.Writer, list *admin.ParkedList, chosen bool, now time.Time) {
	switch {
	case len(list.Parked) == 0 && chosen:
		fmt.Fprintln(w, "no parked message matches these flags")
		return
	case len(list.Parked) == 0:
		fmt.Fprintln(w, "nothing is parked here")
		return
	}
	g := newGrid("MESSAGE", "REASON", ">BYTES", ">LAST TRY")
	for _, p := range list.Parked {
		g.add(quoted(p.ID), p.Reason, bytesText(p.Bytes), ago(now, p.LastTry))
	}
	g.write(w)
	if list.More {
		fmt.Fprintf(w, "\n%d of %d; next page: --after %s\n", len(list.Parked), list.Total,
			quoted(list.Parked[len(list.Parked)-1].ID))
	}
}

func (a *app) parkingShow() *cobra.Command {
	var body bool
	c := &cobra.Command{
		Use:   "show MESSAGE",
		Short: "Show one parked message with its content",
		Long:  "Show one parked message. With --body its body goes to standard output byte for byte, and nothing else.",
		Example: `  cloudqueue parking show 'ams/orders@1764534000000:120>nyc'
  cloudqueue parking show 'ams/orders@1764534000000:120>nyc' --body > message.bin`,
		Args: args(1, 1, "the message"),
		RunE: func(c *cobra.Command, given []string) error {
			m, err := ask(c.Context(), a, func(ctx context.Context, r *admin.Client) (*admin.ParkedMessage, error) {
				return r.ShowParked(ctx, given[0])
			})
			if err != nil {
				return err
			}
			if body {
				_, err := a.out.Write(m.Body)
				return err
			}
			return a.print(m, func(w io.Writer) {
				writeParkedMessage(w, m, time.Now())
				fmt.Fprintf(w, "\nto do: %s\n",
					a.retyped(fmt.Sprintf("fix the cause, then cloudqueue parking redrive %s", quoted(m.ID))))
			})
		},
	}
	c.Flags().BoolVar(&body, "body", false, "write the body alone")
	return c
}

const bodyPreview = 1 << 10 // chosen: a screen

func writeParkedMessage(w io.Writer, m *admin.ParkedMessage, now time.Time) {
	g := newGrid("", "")
	g.add("message", quoted(m.ID))
	g.add("reason", m.Reason)
	g.add("errors", orDash(m.Errors))
	g.add("attempts", fmt.Sprintf("%d, first %s ago, last %s ago", m.Attempts, ago(now, m.FirstTry),
		ago(now, m.LastTry)))
	g.add("exchange", fmt.Sprintf("%q", m.Exchange))
	g.add("routing key", fmt.Sprintf("%q", m.RoutingKey))
	g.add("duplicate", m.Duplicate)
	g.add("path", orDash(strings.Join(m.Path, " → ")))
	g.add("properties", fmt.Sprintf("%d bytes", len(m.Raw)))
	if m.TTLSeconds != nil {
		g.add("lifetime left", secondsText(*m.TTLSeconds))
	}
	g.add("body", fmt.Sprintf("%d bytes", len(m.Body)))
	g.write(w)
	preview := m.Body[:min(len(m.Body), bodyPreview)]
	if len(preview) > 0 && isText(preview) {
		fmt.Fprintf(w, "\n%s\n", preview)
	}
}

// isText tells whether a terminal can show bytes; a letter that the preview cut does not count.
func isText(b []byte) bool {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return len(b)-i < utf8.UTFMax && !utf8.FullRune(b[i:])
		}
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return false
		}
		i += n
	}
	return true
}

func (a *app) parkingRedrive() *cobra.Command {
	return a.parkingAction("redrive", "Publish parked messages again, flagged as duplicates",
		`  cloudqueue parking redrive 'ams/orders@1764534000000:120>nyc'
  cloudqueue parking redrive --lane ams/orders --reason unroutable --all`,
		func(ctx context.Context, r *admin.Client, action admin.ParkAction) (*admin.ParkResult, error) {
			return r.Redrive(ctx, action)
		})
}

func (a *app) parkingDrop() *cobra.Command {
	return a.parkingAction("drop", "Discard parked messages for ever; the audit keeps who and why",
		`  cloudqueue parking drop 'ams/orders@1764534000000:120>nyc' --why 'test data'
  cloudqueue parking drop --reason too-large --all --why 'agreed with billing'`,
		func(ctx context.Context, r *admin.Client, action admin.ParkAction) (*admin.ParkResult, error) {
			if action.Why == "" {
				return nil, fail(exitUsage, "add --why 'the reason'", "a drop needs a reason for the audit")
			}
			return r.Drop(ctx, action)
		})
}

type parkCall func(ctx context.Context, r *admin.Client, action admin.ParkAction) (*admin.ParkResult, error)

func (a *app) parkingAction(name, short, example string, call parkCall) *cobra.Command {
	action := admin.ParkAction{}
	var all bool
	c := &cobra.Command{
		Use:   name + " [MESSAGE...]",
		Short: short,
		Long: short + `.
The audit keeps who and why: the record UNPARK in cloudqueue spool cat --segment 17 shows them, of that segment.

Name the messages, or choose them with --lane, --to and --reason together with --all. A redrive or a drop that was
cut off can be repeated. It ends with code 1 when some stayed parked, each listed with why, or when some that were named
are not parked here: done before, or mistyped.`,
		Example: example,
		RunE: func(c *cobra.Command, given []string) error {
			action.Filter.IDs = given
			if err := checkChoice(action.Filter, all); err != nil {
				return err
			}
			result, err := ask(c.Context(), a, func(ctx context.Context, r *admin.Client) (*admin.ParkResult, error) {
				return call(ctx, r, action)
			})
			if err != nil {
				return err
			}
			return a.showParkResult(result, name, given)
		},
	}
	filterFlags(c, &action.Filter)
	c.Flags().BoolVar(&all, "all", false, "all that the other flags choose")
	c.Flags().StringVar(&action.Why, "why", "", "the reason, for the audit")
	return c
}

// checkChoice keeps a forgotten argument from meaning everything.
func checkChoice(filter admin.ParkFilter, all bool) error {
	const fix = "name messages as `cloudqueue parking list` shows them, or add --all to --lane, --to and --reason"
	switch {
	case len(filter.IDs) == 0 && !all:
		return fail(exitUsage, fix, "nothing is chosen")
	case len(filter.IDs) > 0 && all:
		return fail(exitUsage, fix, "messages are named, and --all is given")
	case len(filter.IDs) > 0 && filter.Lane+filter.Destination+filter.Reason != "":
		return fail(exitUsage, fix, "messages are named, and others are chosen by flags")
	}
	return nil
}

// parkResultView is what redrive and drop print.
type parkResultView struct {
	admin.ParkResult
	Absent int `json:"absent"` // of those that were named: not parked here, done before or mistyped
}

// newParkResultView counts a name that was given twice once.
func newParkResultView(result *admin.ParkResult, named []string) parkResultView {
	different := len(slices.Compact(slices.Sorted(slices.Values(named))))
	return parkResultView{*result, max(different-result.Done-len(result.Failed), 0)}
}

func (a *app) showParkResult(result *admin.ParkResult, name string, named []string) error {
	view := newParkResultView(result, named)
	if err := a.print(view, func(w io.Writer) { view.write(w, name) }); err != nil {
		return err
	}
	if len(view.Failed)+view.Absent > 0 {
		return errNo
	}
	return nil
}

func (v parkResultView) write(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: %d done, %d stayed parked", name, v.Done, len(v.Failed))
	if v.Absent > 0 {
		fmt.Fprintf(w, ", %d not parked here", v.Absent)
	}
	fmt.Fprintln(w)
	for _, f := range v.Failed {
		fmt.Fprintf(w, "  %s: %s\n", printable(quoted(f.ID)), printable(f.Error))
	}
}
