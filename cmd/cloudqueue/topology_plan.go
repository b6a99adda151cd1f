package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"cloudqueue/topology"
)

// planView is what plan and apply print.
type planView struct {
	Version uint64       `json:"against_version"` // 0: nothing is in force, or a file
	Digest  string       `json:"against_digest,omitempty"`
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
	view := planView{Version: version, Changes: []changeView{}, Sites: []effectView{}, Strands: listed(plan.Strands),
		Refused: listed(plan.Refused), Notes: listed(plan.Notes), Mass: plan.Mass()}
	if plan.OldDigest != [32]byte{} {
		view.Digest = fmt.Sprintf("%x", plan.OldDigest)
	}
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

var changeMarks = map[string]string{
	string(topology.Added):   "+",
	string(topology.Changed): "~",
	string(topology.Removed): "-",
}

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
	if v.Digest != "" {
		fmt.Fprintf(w, "\ncompared with %sdigest %.12s\n", versionText(v.Version), v.Digest)
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
would want another word: a flag of apply, or for a topology in a plain file the line accept-stranding: [DIGEST] in the
new one, with the digest that this shows.`,
		Example: `  cloudqueue topology plan topology.yaml
  cloudqueue topology plan topology.yaml --against old.yaml`,
		Args: args(1, 1, "the topology's file"),
		RunE: func(c *cobra.Command, given []string) error {
			plan, version, err := a.plan(c.Context(), place, given[0], against)
			if err != nil {
				return unreachableEtcd(err)
			}
			view := newPlanView(plan, version)
			if err := a.print(view, view.write); err != nil {
				return err
			}
			return refusedPlan(plan.Check(topology.Accept{}))
		},
	}
	c.Flags().StringVar(&against, "against", "", "compare with this file instead of what is in force")
	return c
}

func (a *app) plan(ctx context.Context, place *topologyPlace, file, against string) (*topology.Plan, uint64, error) {
	document, err := a.readDocument(file)
	if err != nil {
		return nil, 0, err
	}
	if against != "" {
		old, err := a.readDocument(against)
		if err != nil {
			return nil, 0, err
		}
		return topology.MakePlan(old, document), 0, nil
	}
	store, err := place.store(a, file)
	if err != nil {
		return nil, 0, err
	}
	plan, version, err := store.Plan(ctx, document)
	return plan, version, errors.Join(err, store.Close())
}
