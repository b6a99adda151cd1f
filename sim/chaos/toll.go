package chaos

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Struck is what a strike met and what it cost.
type Struck struct {
	Strike
	InFlight int           // confirmed and not consumed, of the messages that pass the part, when it was struck
	Again    time.Duration // from the strike until every queue behind the part had a message that was published after it
}

// Toll is the strikes of a run. Where one overlaps others, the time until delivery is that of all of them.
type Toll []Struck

// Kills is how many of the strikes were kills; the others were pauses.
func (t Toll) Kills() int {
	n := 0
	for _, s := range t {
		if !s.Kind.pauses() {
			n++
		}
	}
	return n
}

// String is a line with the counts, and a table with a line for every kind that struck.
func (t Toll) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d kills, %d pauses\n", t.Kills(), len(t)-t.Kills())
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "strike\ttimes\tin flight: least\tmedian\tmost\tdead or paused: median\tmost\tstrike to next delivery: least\tmedian\tmost\t")
	for _, kind := range Kinds {
		if of := t.of(kind); len(of) > 0 {
			of.row(w, kind)
		}
	}
	w.Flush() // into memory
	return b.String()
}

func (t Toll) of(kind Kind) Toll {
	var of Toll
	for _, s := range t {
		if s.Kind == kind {
			of = append(of, s)
		}
	}
	return of
}

func (t Toll) row(w *tabwriter.Writer, kind Kind) {
	var inFlight []int
	var down, again []time.Duration
	for _, s := range t {
		inFlight = append(inFlight, s.InFlight)
		down = append(down, s.Down.Round(10*time.Millisecond))
		again = append(again, s.Again.Round(10*time.Millisecond))
	}
	slices.Sort(inFlight)
	slices.Sort(down)
	slices.Sort(again)
	middle, last := len(t)/2, len(t)-1
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%v\t%v\t%v\t%v\t%v\t\n", kind, len(t),
		inFlight[0], inFlight[middle], inFlight[last], down[middle], down[last], again[0], again[middle], again[last])
}
