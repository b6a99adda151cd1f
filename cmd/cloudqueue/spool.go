package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

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

func (a *app) spoolNewID() *cobra.Command {
	return &cobra.Command{
		Use:   "new-id [URL]",
		Short: "Make a store of its own out of a copy",
		Long: `Give a store another id and birth, so that peers regard it as a new store of the site. Use it when status says "store
replaced by an older one" and the older one is to stay, and after spool void --corrupt on a store of which nothing could be
served. For "store rewound" and "store cloned" use reseal: it does this too. No router may use the store meanwhile. One that
holds lanes of its own is resealed next.

` + storeHelp,
		Example: "  cloudqueue spool new-id file:///var/lib/cloudqueue/spool",
		Args:    args(0, 1, "the store's URL"),
		RunE: func(c *cobra.Command, given []string) error {
			place, err := a.findOwnStore(c.Context(), first(given))
			if err != nil {
				return err
			}
			ids, err := localdir.NewID(place.dir, time.Now())
			if err != nil {
				return err
			}
			return a.printFixes(storeIdentity{URL: place.url(), ID: ids.New.String(), Former: ids.Old.String()},
				func(w io.Writer) {
					fmt.Fprintf(w, "%s: store %s, formerly %s\nnext: cloudqueue spool reseal --why REASON --yes\n",
						place.url(), ids.New, ids.Old)
				})
		},
	}
}
