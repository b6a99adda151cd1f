package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
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

// siteView is what a site's router runs.
type siteView struct {
	Site    string    `json:"site"`
	Version uint64    `json:"version"`
	Origin  string    `json:"origin,omitempty"`
	State   string    `json:"state"` // runs it, not yet, refuses it, no report
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since,omitzero"`
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
			store, err := place.store(a)
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
		a.showRefused(applied.Plan)
		return err
	}
	view := appliedView{Version: applied.Version, Digest: fmt.Sprintf("%x", applied.Digest()), Unchanged: applied.Unchanged, Plan: newPlanView(applied.Plan, 0)}
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
func (a *app) showRefused(plan *topology.Plan) {
	if plan != nil && a.output == "table" {
		newPlanView(plan, 0).write(a.out)
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

func writeSites(w io.Writer, sites []siteView) {
	g := newGrid("SITE", ">VERSION", "FROM", "STATE", "REASON")
	for _, s := range sites {
		g.add(s.Site, s.Version, orDash(s.Origin), s.State, orDash(s.Reason))
	}
	g.section(w, "ROUTERS")
}

// awaitSites polls the routers' reports until all run the version, one refuses it, or the time is over.
func awaitSites(ctx context.Context, store *etcd.Store, document *topology.Document, applied topology.Stored, most time.Duration) ([]siteView, bool, error) {
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

// States of a site's router with regard to a version.
const (
	runsIt   = "runs it"
	notYet   = "not yet"
	refuses  = "refuses it"
	noReport = "no report"
)

func sitesOf(document *topology.Document, wanted topology.Stored, reports []topology.Report) []siteView {
	bySite := map[federation.SiteID]topology.Report{}
	for _, r := range reports {
		bySite[r.Site] = r
	}
	digest := fmt.Sprintf("%x", wanted.Digest())
	var sites []siteView
	for _, s := range document.Sites() {
		r, reported := bySite[s.ID]
		view := siteView{Site: string(s.ID), Version: r.Version, Origin: r.Origin, Reason: r.Refused, Since: r.Since, State: notYet}
		switch {
		case !reported:
			view.State, view.Reason = noReport, "its router is down, or does not reach etcd"
		case r.Version >= wanted.Version && (r.Version > wanted.Version || r.Digest == digest):
			view.State = runsIt
		case r.Refused != "":
			view.State = refuses
		}
		sites = append(sites, view)
	}
	return sites
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

// shownView is what show prints.
type shownView struct {
	Name     string        `json:"name"`
	Version  uint64        `json:"version"`
	Digest   string        `json:"digest"`
	Author   string        `json:"author,omitempty"`
	Comment  string        `json:"comment,omitempty"`
	Applied  time.Time     `json:"applied,omitzero"`
	Sites    []siteView    `json:"sites"`
	Source   string        `json:"source"`
	Warnings []problemView `json:"warnings"`
	routes   []topology.Route
}

func (a *app) topologyShow(place *topologyPlace) *cobra.Command {
	var version uint64
	var source bool
	c := &cobra.Command{
		Use:   "show",
		Short: "Show the topology in force, and which routers run it",
		Long:  `Show the topology in force: its version, its routes, and what each router runs. With --source, its text alone.`,
		Example: `  cloudqueue topology show
  cloudqueue topology show --source > topology.yaml
  cloudqueue topology show --version 6 --source`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			view, err := a.shown(c.Context(), place, version)
			if err != nil {
				return unreachableEtcd(err)
			}
			if source {
				_, err := io.WriteString(a.out, view.Source)
				return err
			}
			return a.print(view, view.write)
		},
	}
	c.Flags().Uint64Var(&version, "version", 0, "show this version of the history")
	c.Flags().BoolVar(&source, "source", false, "print the text alone")
	return c
}

func (a *app) shown(ctx context.Context, place *topologyPlace, version uint64) (*shownView, error) {
	store, err := place.store(a)
	if err != nil {
		return nil, err
	}
	stored, reports, err := fetch(ctx, store, version)
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	return newShownView(store.Source().Name(), stored, reports)
}

func fetch(ctx context.Context, store *etcd.Store, version uint64) (stored topology.Stored, reports []topology.Report, err error) {
	if version == 0 {
		stored, err = store.Get(ctx)
	} else {
		stored, err = store.GetVersion(ctx, version)
	}
	if err == nil {
		reports, err = store.Reports(ctx)
	}
	return stored, reports, err
}

func newShownView(name string, stored topology.Stored, reports []topology.Report) (*shownView, error) {
	document, err := stored.Open(fmt.Sprintf("version %d", stored.Version))
	if err != nil {
		return nil, err
	}
	return &shownView{Name: name, Version: stored.Version, Digest: fmt.Sprintf("%x", stored.Digest()), Author: stored.Author, Comment: stored.Comment, Applied: stored.Applied,
		Source: string(stored.Source), Sites: sitesOf(document, stored, reports), Warnings: problemViews(document.Warnings()), routes: document.Routes()}, nil
}

func (v *shownView) write(w io.Writer) {
	fmt.Fprintf(w, "%s: version %d, digest %.12s, by %s at %s: %s\n", v.Name, v.Version, v.Digest, cmp.Or(v.Author, "-"), v.Applied.UTC().Format(time.RFC3339), cmp.Or(v.Comment, "-"))
	g := newGrid("ROUTE", "LANE", "FROM", "TO", "CLASS")
	for _, r := range v.routes {
		g.add(r.Name, r.Lane, sourceName(r.Source), destinationNames(r), r.Class)
	}
	g.section(w, "ROUTES")
	writeSites(w, v.Sites)
}

func sourceName(s federation.Source) string {
	if s.Exchange == "" {
		return "queue " + s.Queue
	}
	return fmt.Sprintf("exchange %s %v", s.Exchange, s.Keys)
}

func destinationNames(r topology.Route) (names string) {
	for i, d := range r.Destinations {
		if i > 0 {
			names += " "
		}
		names += d.Destination.String()
	}
	return names
}
