// Package world runs the smallest federation with all that a story needs: a router process and a broker at each site, a link that
// can be cut, a publisher, and the judge of what arrived.
//
//	publisher ─► ams (broker, router) ══ udpproxy ══ nyc (router, broker) ─► judge
//
// It is the lane of sim/lane. Everything that it starts ends with the test. Start reading at World.
package world

import (
	"context"
	"encoding/json"
	"fmt"
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
	"cloudqueue/sim/udpproxy"
)

// Seed is that of the bodies.
const Seed = 1

// patience bounds a wait for something that must happen, on a machine that does much else.
const patience = time.Minute

// Config says what a World is made of. The zero value is one with embedded brokers.
type Config struct {
	Binary   string            // cloudqueue; empty: it is built
	RabbitMQ []string          // the sites with a node of RabbitMQ; the others have an embedded broker
	Stores   map[string]string // by site: more lines of the router file's store section
}

// World is orders going from ams to nyc. It is for one goroutine.
type World struct {
	T       *testing.T
	Ctx     context.Context
	Dir     string
	Binary  string // cloudqueue
	Sites   *parts.Federation
	Brokers map[string]*embedded.Broker // of the sites that have one
	Nodes   map[string]*parts.RabbitMQ  // of the others
	Link    *udpproxy.Proxy             // ams dials nyc through it

	Publisher *load.Publisher // nil before Publish
	published chan error
	urls      map[string]string
	drained   []check.Appearance // taken out of a node's queue
}

// New starts everything but the publisher, and returns when ams takes from its queue.
func New(t *testing.T, config Config) *World {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // builds and boots beside other work included
	t.Cleanup(cancel)
	w := &World{T: t, Ctx: ctx, Dir: lane.Dir(t), Binary: config.Binary, Brokers: map[string]*embedded.Broker{}, Nodes: map[string]*parts.RabbitMQ{}, urls: map[string]string{}}
	for _, site := range []string{"ams", "nyc"} {
		if slices.Contains(config.RabbitMQ, site) {
			w.startNode(site)
		} else {
			w.Brokers[site], w.urls[site] = lane.Broker(t, embedded.Config{Limits: embedded.Limits{MemoryBytes: 1 << 30}})
		}
	}
	lane.Declare(t, w.urls["ams"])
	lane.Declare(t, w.urls["nyc"], lane.Queue)
	w.startRouters(config.Stores)
	w.Eventually("ams takes from its queue", func() bool {
		st := w.Status("ams")
		return len(st.Out) == 1 && st.Out[0].State == admin.Running
	})
	return w
}

func (w *World) startNode(site string) {
	w.T.Helper()
	node, err := parts.StartRabbitMQ(w.Ctx, parts.RabbitMQConfig{Name: filepath.Base(w.Dir) + site, Dir: filepath.Join(w.Dir, "rabbitmq-"+site)})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(node.Close)
	w.Nodes[site], w.urls[site] = node, node.URL()
}

// startRouters makes the sites' files and starts the routers. Of two sites the first by name dials: the link is cut for both.
func (w *World) startRouters(stores map[string]string) {
	w.T.Helper()
	if w.Binary == "" {
		binary, err := parts.Build(w.Ctx, w.Dir, "cloudqueue/cmd/cloudqueue")
		if err != nil {
			w.T.Fatal(err)
		}
		w.Binary = binary
	}
	ams, nyc, dialled := lane.Port(w.T), lane.Port(w.T), lane.Port(w.T)
	w.startLink(dialled, nyc)
	sites, err := parts.NewFederation(w.Ctx, parts.FederationConfig{Binary: w.Binary, Dir: w.Dir, Topology: lane.Topology(ams, dialled), Sites: []parts.SiteConfig{
		{Name: "ams", Broker: w.urls["ams"], Listen: ams, Store: stores["ams"]},
		{Name: "nyc", Broker: w.urls["nyc"], Listen: nyc, Store: stores["nyc"]},
	}})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(sites.Kill)
	w.Sites = sites
	if err := sites.Start(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
}

func (w *World) startLink(from, to int) {
	w.T.Helper()
	link, err := udpproxy.New(udpproxy.Config{Listen: fmt.Sprintf("127.0.0.1:%d", from), Target: fmt.Sprintf("127.0.0.1:%d", to)})
	if err != nil {
		w.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.Ctx)
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	w.T.Cleanup(func() {
		cancel()
		<-done
	})
	w.Link = link
}

// Publish starts the publisher, rate messages a second.
func (w *World) Publish(rate float64) {
	w.Publisher = load.NewPublisher(load.PublisherConfig{URL: w.urls["ams"], Exchange: lane.Exchange, RoutingKey: "orders.new", Lane: lane.Name, Seed: Seed, Rate: rate, Size: load.MinSize})
	w.published = make(chan error, 1)
	go func() { w.published <- w.Publisher.Run(w.Ctx) }()
}

// Eventually waits until ok holds.
func (w *World) Eventually(what string, ok func() bool) {
	w.T.Helper()
	if !w.Within(patience, ok) {
		w.show()
		w.T.Fatalf("not within %v: %s", patience, what)
	}
}

// Within waits until ok holds, at most as long as that, and tells whether it does.
func (w *World) Within(atMost time.Duration, ok func() bool) bool {
	for deadline := time.Now().Add(atMost); !ok(); time.Sleep(2 * time.Millisecond) {
		if w.Ctx.Err() != nil || time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// show logs what both routers say of themselves.
func (w *World) show() {
	w.T.Helper()
	for _, site := range []string{"ams", "nyc"} {
		out, err := parts.Run(w.Ctx, parts.Command{Path: w.Binary, Args: []string{"status", "--config", filepath.Join(w.Dir, site, "router.yaml")}, Dir: w.Dir})
		w.T.Logf("status of %s: %v\n%s", site, err, out)
	}
}

// Status asks a site's router over its admin socket. It is empty when none answers: the caller asks again.
func (w *World) Status(dir string) *admin.Status {
	w.T.Helper()
	out, err := parts.Run(w.Ctx, parts.Command{Path: w.Binary, Args: []string{"status", "-o", "json", "--config", filepath.Join(w.Dir, dir, "router.yaml")}, Dir: w.Dir})
	st := &admin.Status{}
	if jsonErr := json.Unmarshal([]byte(out), st); jsonErr != nil {
		w.T.Logf("status of %s: %v, %v", dir, err, jsonErr)
	}
	return st
}
