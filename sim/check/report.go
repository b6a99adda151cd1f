package check

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Report is the verdicts of a run.
type Report struct {
	Verdicts []Verdict
	// Faultless says that nothing was broken during the run: false flags are offences then.
	Faultless bool
}

// OK says whether every guarantee held everywhere. A run in which nothing was confirmed proves nothing and is not OK.
func (r Report) OK() bool { return len(r.Problems()) == 0 }

// Problems are the offences in words, each with the names of the first messages.
func (r Report) Problems() []string {
	var problems []string
	if len(r.Verdicts) == 0 {
		problems = append(problems, "nothing was checked")
	}
	for _, v := range r.Verdicts {
		if v.Confirmed == 0 {
			problems = append(problems, fmt.Sprintf("%s at %s: nothing was published", v.Lane, v.Queue))
		}
		for _, kind := range r.offences(v) {
			if kind.Count > 0 {
				problems = append(problems, fmt.Sprintf("%s at %s: %d %s: %s", v.Lane, v.Queue, kind.Count, kind.name, kind.list()))
			}
		}
	}
	return problems
}

type namedOffences struct {
	name string
	Offences
}

func (o namedOffences) list() string {
	list := strings.Join(o.Names, ", ")
	if o.Count > len(o.Names) {
		list += ", …"
	}
	return list
}

func (r Report) offences(v Verdict) []namedOffences {
	all := []namedOffences{
		{"lost", v.Lost},
		{"inversions", v.Inversions},
		{"unflagged duplicates", v.Duplicates},
		{"altered", v.Altered},
		{"alien", v.Alien},
	}
	if r.Faultless {
		all = append(all, namedOffences{"false flags without a fault", v.FalseFlags})
	}
	return all
}

// String is the table, one line per lane and queue, a sum, and the problems below it.
func (r Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "lane\tqueue\tpublished\tconfirmed\treturned\tdelivered\tdistinct\tflagged\tfalse flags\tlate\taccounted\tlost\tinversions\tunflagged dup.\taltered\talien\t")
	for _, v := range r.Verdicts {
		row(w, v)
	}
	if len(r.Verdicts) > 1 {
		row(w, r.Sum())
	}
	w.Flush() // into memory
	for _, p := range r.Problems() {
		fmt.Fprintln(&b, p)
	}
	return b.String()
}

func row(w *tabwriter.Writer, v Verdict) {
	fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", v.Lane, v.Queue, v.Published, v.Confirmed, v.Returned, v.Delivered, v.Distinct,
		v.Flagged, v.FalseFlags.Count, v.Late.Count, v.Accounted, v.Lost.Count, v.Inversions.Count, v.Duplicates.Count, v.Altered.Count, v.Alien.Count)
}

// add sums counts; names stay with their lanes.
func (v *Verdict) add(other Verdict) {
	v.Published += other.Published
	v.Confirmed += other.Confirmed
	v.Returned += other.Returned
	v.Delivered += other.Delivered
	v.Distinct += other.Distinct
	v.Flagged += other.Flagged
	v.Accounted += other.Accounted
	v.FalseFlags.Count += other.FalseFlags.Count
	v.Late.Count += other.Late.Count
	v.Lost.Count += other.Lost.Count
	v.Inversions.Count += other.Inversions.Count
	v.Duplicates.Count += other.Duplicates.Count
	v.Altered.Count += other.Altered.Count
	v.Alien.Count += other.Alien.Count
}

// Sum adds the verdicts up; it carries no names.
func (r Report) Sum() Verdict {
	sum := Verdict{Lane: "all"}
	for _, v := range r.Verdicts {
		sum.add(v)
	}
	return sum
}
