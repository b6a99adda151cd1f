package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"cloudqueue/topology"
)

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
			fmt.Fprintf(w, "valid: %s, %s, %s, digest %.12s\n", count(view.Sites, "site"), count(view.Links, "link"),
				count(view.Routes, "route"), view.Digest)
			return
		}
		fmt.Fprintf(w, "not valid: %s\n", count(len(problems), "mistake"))
	})
	if err == nil && !view.Valid {
		return errNo
	}
	return err
}
