package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"cloudqueue/router/admin"
)

// maxProblems is how many problems are told in full (chosen: a screen of 50 lines). The tables below show every part
// with its state.
const maxProblems = 20

// maxNamed is how many parts one problem names (chosen: a line or two).
const maxNamed = 5

// writeProblems uses paragraphs: reasons and mends are sentences, and a table would cut them. One cause may hold a
// thousand lanes: it is told once.
func writeProblems(w io.Writer, s *admin.Status) {
	problems := grouped(s.Problems())
	more := 0
	for i, p := range problems {
		if i >= maxProblems {
			more += len(p.parts) + len(p.held)
			continue
		}
		p.write(w, s.At)
	}
	if more > 0 {
		fmt.Fprintf(w, "\n! and %s more: cloudqueue status -o json\n", count(more, "part"))
	}
}

// problem is what one cause does: parts say the same of themselves, and others point at one of them.
type problem struct {
	admin.Condition // since the earliest of parts
	parts, held     []string
}

// grouped keeps the order of the problems: what holds others stands before them.
func grouped(list []admin.Problem) []*problem {
	var out []*problem
	saying, of := map[admin.Condition]*problem{}, map[string]*problem{}
	for _, p := range list {
		if cause := of[causeOf(p.Reason)]; cause != nil && p.Fix == "" { // a mend of its own is not hidden
			cause.held = append(cause.held, p.Part)
			continue
		}
		words := p.Condition
		words.Since = time.Time{}
		group := saying[words]
		if group == nil {
			group = &problem{Condition: p.Condition}
			saying[words], out = group, append(out, group)
		}
		if p.Since.Before(group.Since) {
			group.Since = p.Since
		}
		group.parts, of[p.Part] = append(group.parts, p.Part), group
	}
	return out
}

// causeOf is the part that a reason points at: "no link to nyc: see link nyc"; empty when it points at none.
func causeOf(reason string) string {
	if strings.HasSuffix(reason, "no connection to the broker") { // what localbroker says of a publisher and a consumer
		return "broker"
	}
	_, part, _ := strings.Cut(reason, ": see ")
	return part
}

func (p *problem) write(w io.Writer, now time.Time) {
	fmt.Fprintf(w, "\n! %s: %s for %s", named(p.parts), p.State, ago(now, p.Since))
	if p.Reason != "" {
		fmt.Fprintf(w, ": %s", paragraph(p.Reason))
	}
	fmt.Fprintln(w)
	if p.Fix != "" {
		fmt.Fprintf(w, "  to do: %s\n", printable(p.Fix))
	}
	if len(p.held) > 0 {
		fmt.Fprintf(w, "  held by it: %s\n", named(p.held))
	}
}

// named names the first of some parts and counts the others.
func named(parts []string) string {
	text := strings.Join(parts[:min(len(parts), maxNamed)], ", ")
	if more := len(parts) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return printable(text)
}
