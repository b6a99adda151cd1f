package faults

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/router/admin"
	"cloudqueue/sim/check"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/load"
	"cloudqueue/sim/parts"
)

const seed = 1 // of the bodies

// world is ams → nyc: a router process each, a broker each, embedded or a RabbitMQ node, and a publisher at ams.
type world struct {
	t         *testing.T
	ctx       context.Context
	dir       string
	sites     *parts.Federation
	brokers   map[string]*embedded.Broker // of the sites that have one
	nodes     map[string]*parts.RabbitMQ  // of the others
	urls      map[string]string
	drained   []check.Appearance // taken out of a node's queue
	publisher *load.Publisher
	published chan error
}

// newWorld starts everything but the publisher. The sites named have a RabbitMQ node, the others an embedded broker.
func newWorld(t *testing.T, real ...string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // builds and boots beside other work included
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, dir: lane.Dir(t), brokers: map[string]*embedded.Broker{}, nodes: map[string]*parts.RabbitMQ{}, urls: map[string]string{}}
	for _, site := range []string{"ams", "nyc"} {
		if slices.Contains(real, site) {
			w.startNode(site)
		} else {
			w.brokers[site], w.urls[site] = lane.Broker(t, embedded.Config{Limits: embedded.Limits{MemoryBytes: 1 << 30}})
		}
	}
	lane.Declare(t, w.urls["ams"])
	lane.Declare(t, w.urls["nyc"], lane.Queue)
	w.sites = lane.Started(ctx, t, w.dir, w.urls["ams"], w.urls["nyc"])
	w.eventually("ams takes from its queue", func() bool {
		st := w.status("ams")
		return len(st.Out) == 1 && st.Out[0].State == admin.Running
	})
	return w
}

func (w *world) startNode(site string) {
	w.t.Helper()
	node, err := parts.StartRabbitMQ(w.ctx, parts.RabbitMQConfig{Name: "faults-" + site, Dir: filepath.Join(w.dir, "rabbitmq-"+site)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(node.Close)
	w.nodes[site], w.urls[site] = node, node.URL()
}

// publish starts the publisher, rate messages a second.
func (w *world) publish(rate float64) {
	w.publisher = load.NewPublisher(load.PublisherConfig{URL: w.urls["ams"], Exchange: lane.Exchange, RoutingKey: "orders.new", Lane: lane.Name, Seed: seed, Rate: rate, Size: load.MinSize})
	w.published = make(chan error, 1)
	go func() { w.published <- w.publisher.Run(w.ctx) }()
}

// crowd waits until messages arrive, and lets the publisher hurry until a hundred are in flight: at most rates the routers take
// what comes within milliseconds, and a few dozen are on their way.
func (w *world) crowd() {
	w.t.Helper()
	before := w.arrived()
	w.eventually("it delivers", func() bool { return w.arrived() > before })
	w.publisher.Hurry(true)
	defer w.publisher.Hurry(false)
	w.eventually("a hundred messages are in flight", func() bool { return w.inFlight() >= 100 })
}

// inFlight is how many messages are confirmed at ams and have not appeared at nyc.
func (w *world) inFlight() int {
	_, confirmed := w.publisher.Counts()
	return confirmed - w.arrived()
}

func (w *world) arrived() int {
	if b := w.brokers["nyc"]; b != nil {
		q, _ := b.Queue(lane.Queue)
		return q.Ready
	}
	n, err := load.Depth(w.ctx, w.urls["nyc"], lane.Queue)
	if err != nil {
		return 0 // the node is away: the caller looks again
	}
	return n
}

// appearances are the messages at nyc as the judge sees them. A node's queue is emptied by it.
func (w *world) appearances() []check.Appearance {
	w.t.Helper()
	if b := w.brokers["nyc"]; b != nil {
		return load.Appearances(b.Snapshot(lane.Queue), seed)
	}
	all, err := load.Drain(w.ctx, w.urls["nyc"], lane.Queue, seed)
	if err != nil {
		w.t.Fatal(err)
	}
	w.drained = append(w.drained, all...)
	return w.drained
}

// eventually waits until ok holds.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if w.ctx.Err() != nil || time.Now().After(deadline) {
			w.t.Fatalf("not within a minute: %s", what)
		}
	}
}

// balance ends the publisher, waits until all of its messages are at nyc, and judges the queue there.
func (w *world) balance() {
	w.t.Helper()
	w.publisher.Finish()
	if err := <-w.published; err != nil {
		w.t.Fatal(err)
	}
	w.eventually("nothing is missing at nyc", func() bool {
		return w.inFlight()-len(w.drained) <= 0 && w.verdict().Lost.Count == 0
	})
	if _, err := w.sites.Receipted(w.ctx); err != nil { // a repeat may come behind the last message
		w.t.Fatal(err)
	}
	report := check.Report{Verdicts: []check.Verdict{w.verdict()}}
	w.t.Logf("%s", report)
	if !report.OK() {
		w.t.Error("a guarantee is broken")
	}
	for _, site := range []string{"ams", "nyc"} {
		if out, err := w.sites.Site(site).Command(w.ctx, "books"); err != nil {
			w.t.Errorf("books of %s: %v\n%s", site, err, out)
		}
	}
}

func (w *world) verdict() check.Verdict {
	w.t.Helper()
	return check.Judge(check.History{Lane: lane.Name, Queue: "nyc " + lane.Queue, Published: w.publisher.Published(), Appeared: w.appearances(), Routed: true})
}

// status asks a router over its admin socket.
func (w *world) status(dir string) *admin.Status {
	w.t.Helper()
	out, err := parts.Run(w.ctx, parts.Command{Path: filepath.Join(w.dir, "cloudqueue"), Args: []string{"status", "-o", "json", "--config", filepath.Join(w.dir, dir, "router.yaml")}, Dir: w.dir})
	st := &admin.Status{}
	if jsonErr := json.Unmarshal([]byte(out), st); jsonErr != nil {
		w.t.Logf("status of %s: %v, %v", dir, err, jsonErr) // not up yet: the caller asks again
	}
	return st
}
