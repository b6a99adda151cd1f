package world

import (
	"context"
	"time"

	"cloudqueue/sim/check"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
)

// Arrived is how many messages stand in nyc's queue; 0 while its node is away: the caller looks again.
func (w *World) Arrived() int {
	n, _ := w.arrived()
	return n
}

func (w *World) arrived() (n int, err error) {
	if b := w.Brokers["nyc"]; b != nil {
		q, _ := b.Queue(lane.Queue)
		return q.Ready, nil
	}
	return load.Depth(w.Ctx, w.urls["nyc"], lane.Queue)
}

// InFlight is how many messages are confirmed at ams and have not appeared at nyc; an error: nyc's node is away.
func (w *World) InFlight() (int, error) {
	_, confirmed := w.Publisher.Counts() // before: what arrives meanwhile makes it less
	n, err := w.arrived()
	return confirmed - n, err
}

// Appearances are the messages at nyc as the judge sees them. A node's queue is emptied by it.
func (w *World) Appearances() []check.Appearance {
	w.T.Helper()
	if b := w.Brokers["nyc"]; b != nil {
		return load.Appearances(b.Snapshot(lane.Queue), Seed)
	}
	all, err := load.Drain(w.Ctx, w.urls["nyc"], lane.Queue, Seed)
	if err != nil {
		w.T.Fatal(err)
	}
	w.drained = append(w.drained, all...)
	return w.drained
}

// Balance ends the publisher, waits until all of its messages are at nyc, and judges the queue there.
func (w *World) Balance() {
	w.T.Helper()
	w.BalanceBut("", func(uint64) bool { return false })
}

// BalanceBut is Balance where some messages may be gone, for a reason: those whose index excused names.
func (w *World) BalanceBut(reason string, excused func(index uint64) bool) {
	w.T.Helper()
	w.Publisher.Finish()
	if err := <-w.published; err != nil {
		w.T.Fatal(err)
	}
	verdict := func() check.Verdict { return w.verdict(reason, excused) }
	for deadline := time.Now().Add(patience); verdict().Lost.Count > 0 && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(w.Ctx, patience)
	defer cancel()
	if _, err := w.Sites.Receipted(ctx); err != nil { // a repeat may come behind the last message
		w.T.Error(err)
	}
	report := check.Report{Verdicts: []check.Verdict{verdict()}}
	w.T.Logf("%s", report)
	if !report.OK() {
		w.T.Error("a guarantee is broken")
	}
	for _, site := range []string{"ams", "nyc"} {
		if out, err := w.Sites.Site(site).Command(w.Ctx, "books"); err != nil {
			w.T.Errorf("books of %s: %v\n%s", site, err, out)
		}
	}
}

func (w *World) verdict(reason string, excused func(index uint64) bool) check.Verdict {
	w.T.Helper()
	h := check.History{Lane: lane.Name, Queue: "nyc " + lane.Queue, Published: w.Publisher.Published(), Appeared: w.Appearances(), Routed: true}
	h.Accounted = map[uint64]string{}
	for i := range h.Published {
		if index := uint64(i + 1); excused(index) {
			h.Accounted[index] = reason
		}
	}
	for _, a := range h.Appeared {
		delete(h.Accounted, a.Index) // what came needs no excuse
	}
	return check.Judge(h)
}
