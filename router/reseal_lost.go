package router

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
)

// lost is what a reseal cannot read of a generation, and why the first of it cannot be read.
type lost struct {
	spans []federation.Span // ascending
	why   string
}

// add notes offsets that cannot be read.
func (l *lost) add(s federation.Span, why error) {
	n := len(l.spans)
	if n > 0 && l.spans[n-1].Last+1 == s.First {
		l.spans[n-1].Last = s.Last
		return
	}
	if n == 0 {
		l.why = whyLost(why)
	}
	l.spans = append(l.spans, s)
}

// whyLost leaves out what a CorruptError says to type: it is for a router that runs.
func whyLost(err error) string {
	var corrupt *spool.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return fmt.Sprintf("segment %d at byte %d: %s", corrupt.Segment, corrupt.Offset, corrupt.What)
	case errors.Is(err, spool.ErrNone):
		return "not in the store"
	}
	return err.Error()
}

// names gives the spans as first-last.
func (l *lost) names() []string {
	var names []string
	for _, s := range l.spans {
		names = append(names, fmt.Sprintf("%d-%d", s.First, s.Last))
	}
	return names
}

// text names the first few spans, and how many offsets they are in all.
func (l *lost) text() string {
	const most = 8
	count := federation.Offset(0)
	for _, s := range l.spans {
		count += s.Last - s.First + 1
	}
	names := l.names()
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("%d more spans", len(names)-most))
	}
	return fmt.Sprintf("%d messages (%s)", count, strings.Join(names, ", "))
}

// refusal names what is lost, and what to type.
func (l *lost) refusal(lane federation.Lane, gen federation.Generation) error {
	return admin.Errorf(admin.Refused, "put the segment back from a backup, or abandon these messages for ever: cloudqueue spool reseal --void --why REASON --yes",
		"lane %s: %s of generation %d cannot be read: %s", lane, l.text(), gen, l.why)
}

// givenUp is what a generation ends with: the words that it had, those about what is lost, and one that gives all the rest up, as it
// is sealed again. When they are more than a mark may hold, the last one stands for all; the audits tell the rest.
func givenUp(before []federation.Void, spans []federation.Span, rest federation.Span, who string) []federation.Void {
	voids := slices.Clone(before)
	for _, s := range spans {
		voids = append(voids, federation.Void{Span: s, Reason: federation.VoidCorrupt, Who: who, At: time.Now()})
	}
	if len(voids) >= federation.MaxVoids {
		voids = voids[:0]
	}
	return append(voids, federation.Void{Span: rest, Reason: federation.VoidRecovery, Who: who, At: time.Now()})
}
