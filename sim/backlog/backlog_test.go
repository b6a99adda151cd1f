//go:build integration && backlog

package backlog

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
	"cloudqueue/sim/parts"
)

// What the test asks for (docs/design.md, G4 and G5).
const (
	firstDelivery = 5 * time.Second // a goal: missing it is said, and fails nothing
	residentLimit = 256 << 20
	residentDrift = 0.20 // between the small and the large backlog
	drainTime     = 30 * time.Second
)

// outcome is what one backlog showed.
type outcome struct {
	first               time.Duration // from the start of the origin's router to the first message at the consumer
	origin, destination int64         // the most resident bytes of the routers
	perSecond           float64
}

func TestBacklogChangesNeitherStartNorMemory(t *testing.T) {
	large := int64(10)
	if text := os.Getenv("BACKLOG_GB"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 2 {
			t.Fatalf("BACKLOG_GB=%s: want a number from 2", text)
		}
		large = n
	}

	one, many := drain(t, 1e9), drain(t, large*1e9)

	checkDrift(t, "origin", one.origin, many.origin, large)
	checkDrift(t, "destination", one.destination, many.destination, large)
	for _, o := range []outcome{one, many} {
		if o.origin > residentLimit || o.destination > residentLimit {
			t.Errorf("resident: origin %d MiB, destination %d MiB, want at most %d", o.origin>>20, o.destination>>20, residentLimit>>20)
		}
		if o.first > firstDelivery {
			t.Logf("GOAL MISSED: first delivery after %v, want %v", o.first, firstDelivery)
		}
	}
}

// checkDrift compares what a router took with 1 GB stored and with large GB.
func checkDrift(t *testing.T, router string, one, many, large int64) {
	t.Helper()
	drift := float64(many)/float64(one) - 1
	t.Logf("%s: %d MiB with 1 GB, %d MiB with %d GB: %+.0f %%", router, one>>20, many>>20, large, 100*drift)
	if drift > residentDrift || drift < -residentDrift {
		t.Errorf("the %s's memory differs by %+.0f %%, want within %.0f %%", router, 100*drift, 100*residentDrift)
	}
}

// drain starts two routers on a backlog of so many bytes and looks at them for a while.
func drain(t *testing.T, size int64) outcome {
	t.Helper()
	dir := lane.Dir(t)
	defer os.RemoveAll(dir) // the next backlog needs the space
	node := startBroker(t, filepath.Join(dir, "rabbitmq"))
	defer node.Close()
	sites := lane.Sites(t.Context(), t, dir, vhost(node, "ams"), vhost(node, "nyc"))
	defer sites.Kill()

	began := time.Now()
	stored, err := Fill(t.Context(), filepath.Join(dir, "ams", "data", "spool"), orders, nyc, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("stored %d messages in %d batches, %.1f GB, in %v", stored.Messages, stored.Messages/perBatch, float64(stored.Bytes)/1e9, time.Since(began).Round(time.Second))

	o := observe(t, vhost(node, "nyc"), sites)
	t.Logf("%.1f GB: first delivery after %v, then %.0f msg/s; resident at most: origin %d MiB, destination %d MiB",
		float64(stored.Bytes)/1e9, o.first.Round(time.Millisecond), o.perSecond, o.origin>>20, o.destination>>20)
	return o
}

// observe starts the destination first, then the origin on its backlog.
func observe(t *testing.T, url string, sites *parts.Federation) (o outcome) {
	t.Helper()
	if err := sites.Site("nyc").Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	came := make(chan time.Time, 1)
	var last load.Received
	consumer := load.NewConsumer(load.ConsumerConfig{URL: url, Queue: lane.Queue, Seed: seed, Handle: func(r load.Received) {
		if r.Flagged || !r.Intact || r.Index != last.Index+1 {
			t.Errorf("index %d after %d: flagged %v, intact %v", r.Index, last.Index, r.Flagged, r.Intact)
			cancel()
		}
		if last.Index == 0 {
			came <- r.At
		}
		last = r
	}})
	consumed := make(chan error, 1)
	go func() { consumed <- consumer.Run(ctx) }()

	start := time.Now()
	if err := sites.Site("ams").Start(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-came:
		o.first = at.Sub(start)
	case <-time.After(2 * time.Minute):
		t.Fatalf("nothing came within 2 minutes; the origin's log ends: %s", sites.Site("ams").Process().Log(4000))
	}
	time.Sleep(drainTime) // the drain is what is looked at
	o.origin, o.destination = resident(t, sites.Site("ams")), resident(t, sites.Site("nyc"))
	cancel()
	if err := <-consumed; err != nil {
		t.Fatal(err)
	}
	o.perSecond = float64(last.Index) / last.At.Sub(start.Add(o.first)).Seconds()
	return o
}

func resident(t *testing.T, site *parts.Site) int64 {
	t.Helper()
	usage, err := parts.ReadUsage(site.Process().PID())
	if err != nil {
		t.Fatal(err)
	}
	return usage.ResidentMax
}

// startBroker starts a node with a virtual host for each site, and the queue at the destination.
func startBroker(t *testing.T, dir string) *parts.RabbitMQ {
	t.Helper()
	node, err := parts.StartRabbitMQ(t.Context(), parts.RabbitMQConfig{Name: "backlog", Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range []string{"ams", "nyc"} {
		for _, command := range [][]string{{"add_vhost", site}, {"set_permissions", "--vhost", site, "guest", ".*", ".*", ".*"}} {
			if _, err := node.Control(t.Context(), command...); err != nil {
				node.Close()
				t.Fatal(err)
			}
		}
		lane.Declare(t, vhost(node, site), lane.Queue)
	}
	return node
}

// vhost is the URL of a site's virtual host.
func vhost(node *parts.RabbitMQ, site string) string {
	u, err := url.Parse(node.URL())
	if err != nil {
		panic(err) // parts made it
	}
	u.Path = "/" + site
	return u.String()
}
