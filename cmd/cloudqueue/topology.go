package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cloudqueue/router/site"
	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/topology/yamlfile"
)

// topologyPlace is where the topology is: the router file's place, unless flags name another etcd.
type topologyPlace struct {
	endpoints  []string
	federation string
}

func (a *app) topologyCommand() *cobra.Command {
	place := &topologyPlace{}
	c := group("topology", "Validate, plan, apply and show the topology",
		`  cloudqueue topology validate topology.yaml
  cloudqueue topology plan topology.yaml
  cloudqueue topology apply topology.yaml --comment 'sin gets orders too' --wait
  cloudqueue topology show`,
		a.topologyValidate(), a.topologyPlan(place), a.topologyApply(place), a.topologyShow(place))
	c.PersistentFlags().StringSliceVar(&place.endpoints, "etcd", nil, "etcd's endpoints (default: those in --config)")
	c.PersistentFlags().StringVar(&place.federation, "federation", site.DefaultFederation, "the federation, with --etcd")
	return c
}

// store opens the etcd that holds the topology.
func (p *topologyPlace) store(a *app) (*etcd.Store, error) {
	if len(p.endpoints) > 0 {
		return etcd.New(etcd.Config{Endpoints: p.endpoints, Federation: p.federation, Timeout: a.timeout})
	}
	config, err := site.ReadConfig(a.configPath)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fail(exitUsage, "name etcd with --etcd, or the router's file with --config", "%w", err)
	}
	if err != nil {
		return nil, err
	}
	if config.Etcd == nil {
		return nil, fail(exitRefused, "edit that file: routers follow it live", "this site's topology is the file %s, not in etcd", config.TopologyFile)
	}
	return openEtcd(config)
}

func openEtcd(config *site.Config) (*etcd.Store, error) {
	tlsConfig, err := config.Etcd.TLS()
	if err != nil {
		return nil, err
	}
	return etcd.New(etcd.Config{Endpoints: config.Etcd.Endpoints, Federation: config.Federation, TLS: tlsConfig, Timeout: config.Etcd.Timeout})
}

// readTopology reads what the router of a file would.
func readTopology(ctx context.Context, config *site.Config) (stored topology.Stored, name string, err error) {
	if config.Etcd == nil {
		file := topology.NewFile(config.TopologyFile)
		stored, err = file.Read(ctx)
		return stored, file.Name(), err
	}
	store, err := openEtcd(config)
	if err != nil {
		return stored, "etcd", err
	}
	stored, err = store.Get(ctx)
	return stored, store.Source().Name(), errors.Join(err, store.Close())
}

// readDocument reads and checks a file; - is standard input.
func (a *app) readDocument(path string) (*topology.Document, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fail(exitUsage, "name the topology's file, or - for standard input", "%w", err)
		}
		defer f.Close() // read only
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, yamlfile.MaxSource+1))
	if err != nil {
		return nil, err
	}
	return topology.Parse(path, src)
}

// verdictView is what validate prints.
type verdictView struct {
	Valid    bool          `json:"valid"`
	Digest   string        `json:"digest,omitempty"`
	Sites    int           `json:"sites"`
	Links    int           `json:"links"`
	Routes   int           `json:"routes"`
	Problems []problemView `json:"problems"`
	Warnings []problemView `json:"warnings"`
}

type problemView struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Path   string `json:"path"`
	What   string `json:"what"`
	Write  string `json:"write,omitempty"`
}

func problemViews(problems topology.Problems) []problemView {
	views := make([]problemView, len(problems))
	for i, p := range problems {
		views[i] = problemView(p)
	}
	return views
}

func (a *app) topologyValidate() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a topology file by itself",
		Long: `Check a file, and print all its problems at once, each with line, column, and what to write. It ends with code 0 when
the file is valid, with 1 when it is not.`,
		Example: "  cloudqueue topology validate topology.yaml",
		Args:    args(1, 1, "the topology's file"),
		RunE: func(_ *cobra.Command, given []string) error {
			document, err := a.readDocument(given[0])
			var problems topology.Problems
			if err != nil && !errors.As(err, &problems) {
				return err
			}
			return a.showVerdict(document, problems)
		},
	}
}

func (a *app) showVerdict(document *topology.Document, problems topology.Problems) error {
	view := verdictView{Valid: document != nil, Problems: problemViews(problems), Warnings: []problemView{}}
	var warnings topology.Problems
	if document != nil {
		warnings = document.Warnings()
		view.Digest, view.Warnings = fmt.Sprintf("%x", document.Digest()), problemViews(warnings)
		view.Sites, view.Links, view.Routes = len(document.Sites()), len(document.Links()), len(document.Routes())
	}
	err := a.print(view, func(w io.Writer) {
		for _, p := range problems {
			fmt.Fprintln(w, p)
		}
		for _, p := range warnings {
			fmt.Fprintf(w, "warning: %s\n", p)
		}
		if view.Valid {
			fmt.Fprintf(w, "valid: %d sites, %d links, %d routes, digest %.12s\n", view.Sites, view.Links, view.Routes, view.Digest)
			return
		}
		fmt.Fprintf(w, "not valid: %s\n", count(len(problems), "mistake"))
	})
	if err == nil && !view.Valid {
		return errNo
	}
	return err
}

// planView is what plan and apply print.
type planView struct {
	Version uint64       `json:"against_version"` // 0: nothing is in force
	Changes []changeView `json:"changes"`
	Sites   []effectView `json:"sites"`
	Strands []string     `json:"strands"`
	Refused []string     `json:"refused"`
	Notes   []string     `json:"notes"`
	Mass    bool         `json:"mass_removal"`
}

type changeView struct {
	Action string      `json:"action"`
	Object string      `json:"object"`
	Name   string      `json:"name"`
	Fields []fieldView `json:"fields,omitempty"`
}

type fieldView struct {
	Key string `json:"key"`
	Old string `json:"old"`
	New string `json:"new"`
}

type effectView struct {
	Site string   `json:"site"`
	Does []string `json:"does"`
}

func newPlanView(plan *topology.Plan, version uint64) planView {
	view := planView{Version: version, Changes: []changeView{}, Sites: []effectView{}, Strands: plan.Strands, Refused: plan.Refused, Notes: plan.Notes, Mass: plan.Mass()}
	for _, c := range plan.Changes {
		change := changeView{Action: string(c.Action), Object: c.Object, Name: c.Name}
		for _, f := range c.Fields {
			change.Fields = append(change.Fields, fieldView(f))
		}
		view.Changes = append(view.Changes, change)
	}
	for _, s := range plan.Sites {
		view.Sites = append(view.Sites, effectView{string(s.Site), s.Does})
	}
	return view
}

var changeMarks = map[string]string{string(topology.Added): "+", string(topology.Changed): "~", string(topology.Removed): "-"}

func (v planView) write(w io.Writer) {
	if len(v.Changes) == 0 {
		fmt.Fprintln(w, "nothing changes")
	}
	for _, c := range v.Changes {
		fmt.Fprintf(w, "%s %s %s\n", changeMarks[c.Action], c.Object, c.Name)
		for _, f := range c.Fields {
			fmt.Fprintf(w, "    %s: %s → %s\n", f.Key, orNothing(f.Old), orNothing(f.New))
		}
	}
	for _, s := range v.Sites {
		fmt.Fprintf(w, "\n%s:\n  %s\n", s.Site, strings.Join(s.Does, "\n  "))
	}
	writeList(w, "strands", v.Strands)
	writeList(w, "refused", v.Refused)
	writeList(w, "note", v.Notes)
	if v.Mass {
		fmt.Fprintln(w, "\nit removes much of the map")
	}
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}

func writeList(w io.Writer, mark string, lines []string) {
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", mark, line)
	}
}

func (a *app) topologyPlan(place *topologyPlace) *cobra.Command {
	var against string
	c := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show what apply would change, what each site would do, and what would strand",
		Long: `Compare a file with what is in force. It ends with code 0 when apply would do it, with 4 when apply would refuse or
would want another word.`,
		Example: `  cloudqueue topology plan topology.yaml
  cloudqueue topology plan topology.yaml --against old.yaml`,
		Args: args(1, 1, "the topology's file"),
		RunE: func(c *cobra.Command, given []string) error {
			document, err := a.readDocument(given[0])
			if err != nil {
				return err
			}
			plan, version, err := a.plan(c.Context(), place, document, against)
			if err != nil {
				return unreachableEtcd(err)
			}
			view := newPlanView(plan, version)
			if err := a.print(view, view.write); err != nil {
				return err
			}
			return refusedOr(plan.Check(topology.Accept{}), topology.ErrRefused, topology.ErrStrands, topology.ErrMassRemoval)
		},
	}
	c.Flags().StringVar(&against, "against", "", "compare with this file instead of what is in force")
	return c
}

func (a *app) plan(ctx context.Context, place *topologyPlace, document *topology.Document, against string) (*topology.Plan, uint64, error) {
	if against != "" {
		old, err := a.readDocument(against)
		if err != nil {
			return nil, 0, err
		}
		return topology.MakePlan(old, document), 0, nil
	}
	store, err := place.store(a)
	if err != nil {
		return nil, 0, err
	}
	plan, version, err := store.Plan(ctx, document)
	return plan, version, errors.Join(err, store.Close())
}

// unreachableEtcd gives errors that are not about the document the code for etcd.
func unreachableEtcd(err error) error {
	var f *failure
	var problems topology.Problems
	switch {
	case err == nil || errors.As(err, &f) || errors.As(err, &problems) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, topology.ErrMissing):
		return &failure{exitNo, err, "cloudqueue topology apply FILE"}
	case errors.Is(err, etcd.ErrConflict):
		return &failure{exitRefused, err, "plan again, and apply what you then want"}
	case errors.Is(err, etcd.ErrUnknown):
		return &failure{exitFailed, err, "look with `cloudqueue topology show`, then apply again if it is not there"}
	case errors.Is(err, topology.ErrRefused), errors.Is(err, topology.ErrStrands), errors.Is(err, topology.ErrMassRemoval):
		return &failure{exitRefused, err, ""}
	case errors.Is(err, etcd.ErrTooLarge), errors.Is(err, etcd.ErrDamaged), errors.Is(err, etcd.ErrFormat):
		return &failure{exitFailed, err, ""}
	}
	return &failure{exitUnreachable, err, "see that etcd runs, and which endpoints --config or --etcd names"}
}

const pollReports = 500 * time.Millisecond
