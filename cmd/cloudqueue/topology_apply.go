package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

// appliedView is what apply prints.
type appliedView struct {
	Version   uint64     `json:"version"`
	Digest    string     `json:"digest"`
	Unchanged bool       `json:"unchanged"`
	Plan      planView   `json:"plan"`
	Sites     []siteView `json:"sites,omitempty"` // with --wait
}

func (a *app) topologyApply(place *topologyPlace) *cobra.Command {
	var wait bool
	change := etcd.Change{}
	c := &cobra.Command{
		Use:   "apply FILE",
		Short: "Put a topology in force, for all routers, in one transaction",
		Long: `Put a file in force. Routers follow it live. It refuses to remove a site, a link or a route without
--accept-stranding, and much of the map without --accept-mass-removal; what is stored keeps its destinations and drains.
Of two admins who apply at once one wins, and the other is told (code 4).

With --wait it ends when every site's router runs it (code 0), or when --timeout is over (code 1).`,
		Example: `  cloudqueue topology apply topology.yaml --comment 'sin gets orders too'
  cloudqueue topology apply topology.yaml --if-version 7 --wait --timeout 2m`,
		Args: args(1, 1, "the topology's file"),
		RunE: func(c *cobra.Command, given []string) error {
			document, err := a.readDocument(given[0])
			if err != nil {
				return err
			}
			store, err := place.store(a, given[0])
			if err != nil {
				return err
			}
			change.Document, change.Author = document, author()
			return unreachableEtcd(errors.Join(a.apply(c.Context(), store, change, wait), store.Close()))
		},
	}
	flags := c.Flags()
	flags.StringVarP(&change.Comment, "comment", "m", "", "why, for the history")
	flags.Uint64Var(&change.IfVersion, "if-version", 0, "only if this version is in force, as plan showed it")
	flags.Uint64Var(&change.AtLeast, "at-least", 0, "the lowest version number to give: for an etcd that was wiped")
	flags.BoolVar(&change.Accept.Stranding, "accept-stranding", false, "remove although messages may depend on it")
	flags.BoolVar(&change.Accept.MassRemoval, "accept-mass-removal", false, "remove much of the map")
	flags.BoolVar(&wait, "wait", false, "wait until every router runs it")
	return c
}

// author is who applies, for the history.
func author() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

func (a *app) apply(ctx context.Context, store *etcd.Store, change etcd.Change, wait bool) error {
	applied, err := store.Apply(ctx, change)
	if err != nil {
		a.showRefused(applied)
		return err
	}
	view := appliedView{Version: applied.Version, Digest: fmt.Sprintf("%x", applied.Digest()),
		Unchanged: applied.Unchanged, Plan: newPlanView(applied.Plan, applied.Against)}
	all := true
	if wait {
		view.Sites, all, err = awaitSites(ctx, store, change.Document, applied.Stored, a.timeout)
		if err != nil {
			return err
		}
	}
	if err := a.print(view, view.write); err != nil {
		return err
	}
	if !all {
		return errNo
	}
	return nil
}

// showRefused prints the plan that was refused: its reasons are in there.
func (a *app) showRefused(applied etcd.Applied) {
	if applied.Plan != nil && a.output == "table" {
		newPlanView(applied.Plan, applied.Against).write(a.out)
	}
}

func (v appliedView) write(w io.Writer) {
	v.Plan.write(w)
	done := "in force"
	if v.Unchanged {
		done = "was in force already"
	}
	fmt.Fprintf(w, "\nversion %d, digest %.12s, %s\n", v.Version, v.Digest, done)
	writeSites(w, v.Sites)
}

const pollReports = 500 * time.Millisecond // chosen: a router acts within a second

// awaitSites polls the routers' reports until all run the version, one refuses it, or the time is over.
func awaitSites(ctx context.Context, store *etcd.Store, document *topology.Document, applied topology.Stored,
	most time.Duration) ([]siteView, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(pollReports)
	defer tick.Stop()
	var sites []siteView
	for {
		reports, err := store.Reports(ctx)
		if err == nil {
			sites = sitesOf(document, applied, reports)
		}
		if settled, all := judgeSites(sites); settled {
			return sites, all, nil
		}
		select {
		case <-ctx.Done():
			if context.Cause(ctx) == context.Canceled {
				return nil, false, context.Canceled
			}
			return sites, false, nil
		case <-tick.C:
		}
	}
}

// judgeSites tells whether waiting longer makes sense, and whether all run it.
func judgeSites(sites []siteView) (settled, all bool) {
	all = len(sites) > 0
	for _, s := range sites {
		all = all && s.State == runsIt
		settled = settled || s.State == refuses
	}
	return settled || all, all
}
