package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cloudqueue/router"
	"cloudqueue/router/site"
)

func (a *app) spoolReseal() *cobra.Command {
	request := router.ResealRequest{}
	var yes bool
	c := &cobra.Command{
		Use:   "reseal",
		Short: "After a store was put back: seal what has no receipt again, under a new generation, flagged",
		Long: `Use it when status says "store rewound" (the store is older than what a peer has seen of it: a backup or a snapshot was
put back), or "store cloned" (two routers run on copies of one store: use it on the copy). The store gets another id.
What its lanes hold without a receipt is sealed again under a new generation, flagged, because nobody knows what of it
was delivered; as a destination it begins where the origins say. The router must be stopped.

Messages without a receipt that cannot be read stop it, and nothing is done. With --void they are abandoned for ever:
the audit keeps who, why and which.

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
			result, err := site.Reseal(c.Context(), config, request, newLogger(a.errs, config.Log))
			if err != nil {
				return err
			}
			return a.showReseal(result)
		},
	}
	c.Flags().StringVar(&request.Why, "why", "", "the reason, for the audit")
	c.Flags().BoolVar(&request.Void, "void", false, "abandon what cannot be read")
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	return c
}

func (a *app) showReseal(result *router.ResealResult) error {
	if err := a.printFixes(result, func(w io.Writer) {
		messages := 0
		g := newGrid("LANE", ">GENERATION", ">NEW GENERATION", ">MESSAGES", "ABANDONED")
		for _, l := range result.Lanes {
			g.add(l.Lane, l.Old, l.Generation, l.Messages, orDash(strings.Join(l.Voided, ", ")))
			messages += int(l.Messages)
		}
		g.write(w)
		if result.Durable {
			fmt.Fprintf(w, "\ndone: the store has another id, %s of %s sealed again; next: start the router: cloudqueue router\n",
				count(messages, "message"), count(len(result.Lanes), "lane"))
		}
	}); err != nil {
		return err
	}
	return needsYes(!result.Durable)
}
