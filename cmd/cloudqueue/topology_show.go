package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/federation"
	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

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
	store, err := place.store(a, "")
	if err != nil {
		return nil, err
	}
	stored, reports, err := fetch(ctx, store, version)
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	return newShownView(store.Source().Name(), stored, reports)
}

func fetch(ctx context.Context, store *etcd.Store,
	version uint64) (stored topology.Stored, reports []topology.Report, err error) {
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
	return &shownView{Name: name, Version: stored.Version, Digest: fmt.Sprintf("%x", stored.Digest()),
		Author: stored.Author, Comment: stored.Comment, Applied: stored.Applied,
		Source: string(stored.Source), Sites: sitesOf(document, stored, reports),
		Warnings: problemViews(document.Warnings()), routes: document.Routes()}, nil
}

func (v *shownView) write(w io.Writer) {
	fmt.Fprintf(w, "%s: version %d, digest %.12s, by %s at %s: %s\n", v.Name, v.Version, v.Digest,
		cmp.Or(v.Author, "-"), v.Applied.UTC().Format(time.RFC3339), cmp.Or(v.Comment, "-"))
	g := newGrid("ROUTE", "LANE", "FROM", "TO", "CLASS")
	for _, r := range v.routes {
		g.add(r.Name, r.Lane, sourceName(r.Source), destinationNames(r), r.Class)
	}
	g.section(w, "ROUTES")
	writeSites(w, v.Sites)
}

func sourceName(s federation.Source) string {
	if s.Exchange == "" {
		return s.String()
	}
	return fmt.Sprintf("%s %v", s, s.Keys)
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

// siteView is what a site's router runs.
type siteView struct {
	Site    string    `json:"site"`
	Version uint64    `json:"version"`
	Origin  string    `json:"origin,omitempty"`
	State   string    `json:"state"` // runs it, not yet, refuses it, no report
	Reason  string    `json:"reason,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

func writeSites(w io.Writer, sites []siteView) {
	g := newGrid("SITE", ">VERSION", "FROM", "STATE", "REASON")
	for _, s := range sites {
		g.add(s.Site, s.Version, orDash(s.Origin), s.State, orDash(s.Reason))
	}
	g.section(w, "ROUTERS")
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
		view := siteView{Site: string(s.ID), Version: r.Version, Origin: string(r.Origin), Reason: r.Refused,
			Since: r.Since, State: notYet}
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
