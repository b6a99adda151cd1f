package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cloudqueue/sim/parts"
	"cloudqueue/sim/udpproxy"
)

// cloudqueue sets up one router beside each broker, with a store on local disk, a file as the topology, and a counting
// proxy on their link. It takes from the exchange and publishes to it, or drains outQueue into inQueue.
func (l *lab) cloudqueue(ctx context.Context, binary string, queueToQueue bool) (*bridge, error) {
	if err := l.declare(queueToQueue); err != nil {
		return nil, err
	}
	dir := filepath.Join(l.dir, "cq")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	link, err := newLink(ctx)
	if err != nil {
		return nil, err
	}
	sites, err := l.sites(ctx, binary, dir, link, topology(link, queueToQueue))
	if err != nil {
		link.close()
		return nil, err
	}
	b := l.routed(sites, link, dir)
	source := "cq.out." + exchange
	if queueToQueue {
		source = outQueue
	}
	err = waitFor(ctx, "the router to consume", func() (bool, error) { return hasConsumer(l.a.URL(), source) })
	if err != nil {
		return nil, errors.Join(err, fmt.Errorf("its log ends: %s", sites.Site("a").Process().Log(2000)), b.stop(ctx))
	}
	return b, nil
}

// topology is the document: one route from a to b.
func topology(link *link, queueToQueue bool) string {
	from, to := fmt.Sprintf("exchange: %s, keys: [\"#\"]", exchange), "site: b"
	if queueToQueue {
		from, to = "queue: "+outQueue, "site: b, queue: "+inQueue
	}
	return fmt.Sprintf("api-version: cloudqueue/v1\nsites:\n  a: {}\n  b: {listen: [%q]}\nroutes:\n  %s:\n    from: {site: a, %s}\n    to: [{%s}]\n",
		link.proxy.Address(), exchange, from, to)
}

// sites starts both routers: a dials b through the link's proxy, and has no address of its own.
func (l *lab) sites(ctx context.Context, binary, dir string, link *link, document string) (*parts.Federation, error) {
	dials, err := parts.FreePort()
	if err != nil {
		return nil, err
	}
	sites, err := parts.NewFederation(ctx, parts.FederationConfig{
		Binary:   binary,
		Dir:      dir,
		Topology: document,
		Sites:    []parts.SiteConfig{{Name: "a", Broker: l.a.URL(), Listen: dials}, {Name: "b", Broker: l.b.URL(), Listen: link.port}},
	})
	if err != nil {
		return nil, err
	}
	if err := sites.Start(ctx); err != nil {
		sites.Kill()
		return nil, err
	}
	return sites, nil
}

// routed is the bridge that the routers are.
func (l *lab) routed(sites *parts.Federation, link *link, dir string) *bridge {
	return &bridge{
		consumeAt: l.b,
		queue:     inQueue,
		processes: map[string]*parts.Process{
			"broker a": l.a.Process(), "broker b": l.b.Process(), "router a": sites.Site("a").Process(), "router b": sites.Site("b").Process(),
		},
		bytes: link.bytes,
		stop: func(ctx context.Context) error {
			defer link.close()
			return errors.Join(sites.Site("a").Stop(ctx), sites.Site("b").Stop(ctx), os.RemoveAll(dir))
		},
	}
}

// link is a proxy that runs.
type link struct {
	proxy *udpproxy.Proxy
	port  int // of the router behind it
	stop  context.CancelFunc
	ended chan error
}

func newLink(ctx context.Context) (*link, error) {
	port, err := parts.FreePort()
	if err != nil {
		return nil, err
	}
	proxy, err := udpproxy.New(udpproxy.Config{Target: fmt.Sprintf("127.0.0.1:%d", port)})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	l := &link{proxy: proxy, port: port, stop: stop, ended: make(chan error, 1)}
	go func() { l.ended <- proxy.Run(ctx) }()
	return l, nil
}

func (l *link) bytes() uint64 {
	there, back := l.proxy.Counts()
	return there.Bytes + back.Bytes
}

func (l *link) close() {
	l.stop()
	<-l.ended
}
