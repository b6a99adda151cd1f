package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/router/site"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// storeIdentity is what init and new-id print.
type storeIdentity struct {
	URL        string    `json:"url"`
	Site       string    `json:"site,omitempty"`
	Federation string    `json:"federation,omitempty"`
	ID         string    `json:"id"`
	Former     string    `json:"former_id,omitempty"`
	Born       time.Time `json:"born,omitzero"`
}

func (a *app) spoolInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [URL]",
		Short: "Make an empty store: mint its id and its birth",
		Long: `Make an empty store in an empty or missing folder. A router never does this by itself: a disk that was not mounted
would look like a new site.

The site and the federation of --config are written into it, for ever: a router of another site or federation is refused.

` + storeHelp,
		Example: `  cloudqueue spool init --config /etc/cloudqueue/router.yaml
  cloudqueue spool init file:///var/lib/cloudqueue/spool`,
		Args: args(0, 1, "the store's URL"),
		RunE: func(_ *cobra.Command, given []string) error {
			place, err := a.findStore(first(given))
			if err != nil {
				return err
			}
			home, err := a.configuredHome()
			if err != nil {
				return err
			}
			id, err := localdir.Init(place.dir, home, time.Now())
			if err != nil {
				return refusedOr(err, localdir.ErrNotEmpty)
			}
			made := storeIdentity{URL: place.url(), Site: string(home.Site), Federation: home.Federation,
				ID: id.Store.String(), Born: id.Born}
			return a.print(made, func(w io.Writer) {
				fmt.Fprintf(w, "%s: store %s of %s, born %s\n", made.URL, made.ID, home, made.Born.Format(time.RFC3339))
			})
		},
	}
}

// configuredHome is the site and the federation of the router's file.
func (a *app) configuredHome() (spool.Home, error) {
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return spool.Home{},
			fail(exitUsage, "name the router's file with --config: its site and federation are written into the store",
				"%w", err)
	}
	if err != nil {
		return spool.Home{}, err
	}
	return config.Home(), nil
}
