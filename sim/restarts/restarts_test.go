package restarts

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/router/admin"
	"cloudqueue/sim/check"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
	"cloudqueue/sim/parts"
)

const (
	seed = 1
	rate = 400 // messages a second: some are always between publish and receipt
)

// most is after how many kills so many between a publish and its receipt are given up: a receipt that takes all that was published leaves
// none for a moment, and a slow machine can make that moment longer.
func most(hits int) int { return hits + hits/5 + 2 }

// restarts is how often the destination is killed between a publish and its receipt: RESTARTS, 200 in make test-chaos.
func restarts(t *testing.T) int {
	t.Helper()
	text := os.Getenv("RESTARTS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("RESTARTS=%s: %v", text, err)
	}
	return n
}

func TestADestinationKilledBetweenPublishAndReceiptRepeatsNothingUnflagged(t *testing.T) {
	n := restarts(t)
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute+time.Duration(n)*4*time.Second) // the build included
	defer cancel()
	ams, amsURL := lane.Broker(t, embedded.Config{})
	nyc, nycURL := lane.Broker(t, embedded.Config{})
	lane.Declare(t, amsURL)
	lane.Declare(t, nycURL, lane.Queue)
	sites := lane.Started(ctx, t, lane.Dir(t), amsURL, nycURL)
	waitFor(ctx, t, func() bool { q, ok := ams.Queue(lane.SourceQueue); return ok && q.Consumers == 1 })
	publisher := load.NewPublisher(load.PublisherConfig{URL: amsURL, Exchange: lane.Exchange, RoutingKey: "orders.new", Lane: lane.Name, Seed: seed, Rate: rate})
	published := make(chan error, 1)
	go func() { published <- publisher.Run(ctx) }()

	kills, between := 0, 0
	for ; between < n && kills < most(n); kills++ {
		before := ready(nyc)
		waitFor(ctx, t, func() bool { return ready(nyc) > before })   // it delivers
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) // the moment of the kill, not a wait for anything
		sites.Site("nyc").Kill()
		if unreceipted(ctx, t, sites, nyc) > 0 {
			between++
		}
		if err := sites.Site("nyc").Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	publisher.Finish()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	verdict := func() check.Verdict {
		return check.Judge(check.History{Lane: lane.Name, Queue: "nyc " + lane.Queue, Published: publisher.Published(), Appeared: appeared(nyc), Routed: true})
	}
	waitFor(ctx, t, func() bool {
		_, confirmed := publisher.Counts()
		return ready(nyc) >= confirmed && verdict().Lost.Count == 0
	})
	if _, err := sites.Receipted(ctx); err != nil { // a repeat may come behind the last message
		t.Fatal(err)
	}

	report := check.Report{Verdicts: []check.Verdict{verdict()}}
	t.Logf("%d restarts, %d of them between a publish and its receipt\n%s", kills, between, report)
	if !report.OK() {
		t.Error("a guarantee is broken")
	}
	if between < n {
		t.Errorf("%d of %d kills came between a publish and its receipt, want %d", between, kills, n)
	}
}

// unreceipted is how many offsets stand in nyc's queue without a receipt at ams. nyc's router is dead: neither number moves.
func unreceipted(ctx context.Context, t *testing.T, sites *parts.Federation, nyc *embedded.Broker) int64 {
	t.Helper()
	books, err := sites.Site("ams").Books(ctx)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(books.Lines, func(l admin.BookLine) bool { return l.Side == admin.Origin && l.Lane == lane.Name })
	if i < 0 {
		t.Fatalf("no line of %s in the books of ams: %+v", lane.Name, books)
	}
	highest := uint64(0)
	for _, a := range newest(nyc) {
		highest = max(highest, a.ID.Offset)
	}
	return int64(highest) - int64(books.Lines[i].Done)
}

// newest are the last messages of nyc's queue: more than a router publishes again after a kill, so the highest offset is among them.
func newest(b *embedded.Broker) []check.Appearance {
	messages := b.Snapshot(lane.Queue)
	return load.Appearances(messages[max(0, len(messages)-5000):], seed)
}

func ready(b *embedded.Broker) int {
	q, _ := b.Queue(lane.Queue)
	return q.Ready
}

func appeared(b *embedded.Broker) []check.Appearance {
	return load.Appearances(b.Snapshot(lane.Queue), seed)
}

func waitFor(ctx context.Context, t *testing.T, ok func() bool) {
	t.Helper()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatal(context.Cause(ctx))
		}
		time.Sleep(2 * time.Millisecond)
	}
}
