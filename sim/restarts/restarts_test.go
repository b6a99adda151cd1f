package restarts

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/check"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
)

const (
	seed = 1
	rate = 400 // messages a second: some are always between publish and receipt
)

// restarts is how often the destination is killed: RESTARTS, 200 in make test-chaos.
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(n)*4*time.Second)
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

	hits := 0
	for range n {
		before := ready(nyc)
		waitFor(ctx, t, func() bool { return ready(nyc) > before })   // it delivers
		time.Sleep(time.Duration(random.IntN(40)) * time.Millisecond) // the moment of the kill, not a wait for anything
		sites.Site("nyc").Kill()
		if ready(nyc) > before {
			hits++
		}
		if err := sites.Site("nyc").Start(ctx); err != nil {
			t.Fatal(err)
		}
	}
	publisher.Finish()
	if err := <-published; err != nil {
		t.Fatal(err)
	}
	var verdict check.Verdict
	waitFor(ctx, t, func() bool {
		_, confirmed := publisher.Counts()
		if ready(nyc) < confirmed {
			return false
		}
		verdict = check.Judge(check.History{Lane: lane.Name, Queue: "nyc " + lane.Queue, Published: publisher.Published(), Appeared: appeared(nyc)})
		return verdict.Lost.Count == 0
	})

	t.Logf("%d restarts, %d while it was delivering\n%s", n, hits, check.Report{Verdicts: []check.Verdict{verdict}})
	if verdict.Duplicates.Count != 0 || verdict.Lost.Count != 0 || verdict.Inversions.Count != 0 || verdict.Altered.Count != 0 {
		t.Errorf("duplicates %v, lost %v, inversions %v, altered %v", verdict.Duplicates, verdict.Lost, verdict.Inversions, verdict.Altered)
	}
	if hits < n/2 {
		t.Errorf("only %d of %d kills came while messages were delivered", hits, n)
	}
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
