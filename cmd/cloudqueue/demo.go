package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// demoBreaks are the faults of `demo --break`.
var demoBreaks = []string{"drop-one"}

func (a *app) demoCommand() *cobra.Command {
	options := demoOptions{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run three sites in this terminal, with faults, and balance the books",
		Long: `Run three sites: embedded brokers, an embedded etcd, a UDP proxy before each site, and three router processes.
It publishes, cuts a link, heals it, kills a router with SIGKILL, starts it again, and counts at the brokers. It ends
with code 0 only if everything published was delivered: nothing lost, nothing out of order, no unflagged duplicate.`,
		Example: `  cloudqueue demo
  cloudqueue demo --stay              keep it running, and say how to attach a client
  cloudqueue demo --break drop-one    remove one message by hand: must end with code 1 and name it`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.output != "table" {
				return fail(exitUsage, "leave -o out; its exit code is the answer", "the demo tells its story as text, not as %s",
					a.output)
			}
			if options.Break != "" && options.Break != demoBreaks[0] {
				return fail(exitUsage, "write one of: "+strings.Join(demoBreaks, ", "), "%q is not a fault of the demo",
					options.Break)
			}
			if options.Messages < 1 {
				return fail(exitUsage, "write for example --messages 10000", "%d is not a count of messages",
					options.Messages)
			}
			if err := checkDemoDir(options.Dir); err != nil {
				return err
			}
			options.Terminal = isTerminal(a.out)
			return a.parts.demo(c.Context(), a.out, options)
		},
	}
	flags := c.Flags()
	flags.StringVar(&options.Break, "break", "", "a fault that the checkers must find: "+strings.Join(demoBreaks, ", "))
	flags.BoolVar(&options.Stay, "stay", false, "keep the sites running until Ctrl-C")
	flags.IntVar(&options.Messages, "messages", 10_000, "how many messages to publish")
	flags.StringVar(&options.Dir, "dir", "", "where to keep the stores and logs (default: a temporary folder)")
	return c
}

// checkDemoDir refuses a folder with something in it: another demo may run there, or have left its stores.
func checkDemoDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fail(exitUsage, "name an empty or missing folder", "%w", err)
	case len(entries) > 0:
		return fail(exitRefused, "name an empty or missing folder", "%s is not empty", dir)
	}
	return nil
}

// isTerminal tells whether w is a terminal, for output that changes in place.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
