package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// print writes v as JSON or YAML, or calls show for people.
func (a *app) print(v any, show func(w io.Writer)) error {
	switch a.output {
	case "json":
		encoder := json.NewEncoder(a.out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	case "yaml":
		return writeYAML(a.out, v)
	}
	show(a.out)
	return nil
}

// grid is a table for people: columns without lines. A heading that begins with > is aligned to the right.
type grid struct {
	headings []string
	rows     [][]string
}

func newGrid(headings ...string) *grid { return &grid{headings: headings} }

func (g *grid) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = printable(fmt.Sprint(cell))
	}
	g.rows = append(g.rows, row)
}

// printable keeps what came from a broker or a peer from driving the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

// paragraph is printable for a text of several lines; those after the first one are indented, so that nothing from
// outside begins a line.
func paragraph(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n      ")
}

func (g *grid) write(w io.Writer) {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	header := make(table.Row, len(g.headings))
	var columns []table.ColumnConfig
	for i, heading := range g.headings {
		name, right := strings.CutPrefix(heading, ">")
		header[i] = name
		if right {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight,
				AlignHeader: text.AlignRight})
		}
	}
	if strings.Join(g.headings, "") != "" {
		t.AppendHeader(header)
	}
	t.SetColumnConfigs(columns)
	for _, cells := range g.rows {
		row := make(table.Row, len(cells))
		for i, cell := range cells {
			row[i] = cell
		}
		t.AppendRow(row)
	}
	for line := range strings.Lines(t.Render() + "\n") {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// section writes a headed table, or nothing when it has no rows.
func (g *grid) section(w io.Writer, heading string) {
	if len(g.rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", heading)
	g.write(w)
}

// listed is a list that JSON writes as [] when it is empty, as every list that is not left out.
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// bytesText writes a size with three digits: 1.21 GiB.
func bytesText(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, i := float64(n), 0
	for value >= 1000 && i < len(units)-1 {
		value, i = value/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return threeDigits(value) + " " + units[i]
}

func threeDigits(value float64) string {
	switch {
	case value < 9.995:
		return fmt.Sprintf("%.2f", value)
	case value < 99.95:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

// secondsText writes a duration with its two largest units: 3m12s, 2d4h, 15ms.
func secondsText(seconds float64) string {
	if seconds <= 0 || math.IsNaN(seconds) {
		return "0s"
	}
	if seconds >= math.MaxInt64/1e9 {
		return "∞"
	}
	return durationText(time.Duration(seconds * float64(time.Second)))
}

func durationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + durationText(-d)
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// ago writes how long before now something was; "-" when it never was.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return durationText(max(now.Sub(then), 0))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
