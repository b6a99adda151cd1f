package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/parts"
	"cloudqueue/sim/udpproxy"
	etcd "cloudqueue/topology/etcd/embedded"
)

// siteNames in the order of who dials whom: of two sites the first one dials the other.
var siteNames = []string{"ams", "nyc", "sin"}

// world is everything that a demo runs.
type world struct {
	dir     string
	binary  string
	screen  *screen
	stop    context.CancelFunc
	running sync.WaitGroup
	etcd    *etcd.Server
	brokers map[string]*embedded.Broker
	urls    map[string]string // of the brokers
	proxies map[string]*udpproxy.Proxy
	sites   *parts.Federation
}

// newWorld starts everything and returns when the routes are attached. With an error too it is to be closed.
func newWorld(ctx context.Context, o Options, s *screen) (*world, error) {
	w := &world{dir: o.Dir, binary: o.Binary, screen: s, brokers: map[string]*embedded.Broker{}, urls: map[string]string{}, proxies: map[string]*udpproxy.Proxy{}}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	s.say("starting three embedded brokers, an embedded etcd and a UDP proxy before each router")
	if err := w.startEtcd(ctx); err != nil {
		return w, err
	}
	config := parts.FederationConfig{Binary: o.Binary, Dir: o.Dir, Etcd: "http://" + w.etcd.Endpoint()}
	for _, name := range siteNames {
		site, err := w.startSite(work, name)
		if err != nil {
			return w, err
		}
		config.Sites = append(config.Sites, site)
	}
	config.Topology = w.topology()
	s.say("making certificates and stores, applying the topology, starting three routers")
	var err error
	if w.sites, err = parts.NewFederation(ctx, config); err != nil {
		return w, err
	}
	if err := w.sites.Start(ctx); err != nil {
		return w, err
	}
	return w, w.attached(ctx)
}

func (w *world) startEtcd(ctx context.Context) (err error) {
	w.etcd, err = etcd.Start(ctx, filepath.Join(w.dir, "etcd"), etcd.Options{})
	return err
}

// startSite starts a broker and the proxy through which the peers reach the site's router. A topology gives a site's addresses to
// all its peers alike, so there is no proxy for a link: who dials whom makes cutting two sites' proxies the cut of one (link).
func (w *world) startSite(ctx context.Context, name string) (parts.SiteConfig, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return parts.SiteConfig{}, err
	}
	b := embedded.New(embedded.Config{})
	w.brokers[name], w.urls[name] = b, "amqp://guest:guest@"+l.Addr().String()+"/"
	w.start(func() { _ = b.Serve(ctx, l) }) // it ends with the context
	port, err := parts.FreePort()
	if err != nil {
		return parts.SiteConfig{}, err
	}
	p, err := udpproxy.New(udpproxy.Config{Target: fmt.Sprintf("127.0.0.1:%d", port)})
	if err != nil {
		return parts.SiteConfig{}, err
	}
	w.proxies[name] = p
	w.start(func() { _ = p.Run(ctx) })
	return parts.SiteConfig{Name: name, Broker: w.urls[name], Listen: port}, w.declare(name)
}

func (w *world) start(f func()) { w.running.Go(f) }

// declare makes what the services at a site would have: the exchanges, and a queue for what comes from elsewhere.
func (w *world) declare(site string) error {
	conn, err := amqp.Dial(w.urls[site])
	if err != nil {
		return err
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, route := range routes {
		if err := ch.ExchangeDeclare(route.name, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		if site == route.from {
			continue
		}
		_, err := ch.QueueDeclare(route.queue(), true, false, false, false, nil)
		if err = errors.Join(err, ch.QueueBind(route.queue(), "#", route.name, false, nil)); err != nil {
			return err
		}
	}
	return nil
}

// route is one line of the demo's topology.
type route struct {
	name, from string
	to         []string
}

// routes: one message of orders goes to two sites.
var routes = []route{{"orders", "ams", []string{"nyc", "sin"}}, {"events", "sin", []string{"ams"}}}

func (r route) queue() string { return r.name + "-in" }

// lane is what the judge finds in x-cq-id.
func (r route) lane() string { return r.from + "/" + r.name }

func (w *world) topology() string {
	var b strings.Builder
	b.WriteString("sites:\n")
	for _, name := range siteNames {
		fmt.Fprintf(&b, "  %s: {listen: [%q]}\n", name, w.proxies[name].Address())
	}
	b.WriteString("routes:\n")
	for _, r := range routes {
		fmt.Fprintf(&b, "  %s:\n    from: {site: %s, exchange: %s, keys: [\"#\"]}\n    to:\n", r.name, r.from, r.name)
		for _, to := range r.to {
			fmt.Fprintf(&b, "      - {site: %s}\n", to)
		}
	}
	return b.String()
}

// attached waits until every route's queue is consumed by its router.
func (w *world) attached(ctx context.Context) error {
	for _, r := range routes {
		err := until(ctx, func() bool {
			q, ok := w.brokers[r.from].Queue("cq.out." + r.name)
			return ok && q.Consumers == 1
		})
		if err != nil {
			return fmt.Errorf("route %s is not attached: %w (logs are in %s)", r.name, err, w.dir)
		}
	}
	return nil
}

// until looks ten times a second.
func until(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// stopTimeout bounds the clean stop of all routers.
const stopTimeout = 20 * time.Second

// close stops the routers cleanly, then the rest.
func (w *world) close() error {
	var err error
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if w.sites != nil {
		for _, name := range siteNames {
			err = errors.Join(err, w.sites.Site(name).Stop(ctx))
		}
	}
	for _, b := range w.brokers {
		err = errors.Join(err, b.Close(ctx))
	}
	w.stop()
	w.running.Wait()
	if w.etcd != nil {
		err = errors.Join(err, w.etcd.Close())
	}
	return err
}

func (w *world) sayHowToAttach() {
	w.screen.say("the sites stay up until Ctrl-C; attach any AMQP client:")
	for _, name := range siteNames {
		fmt.Fprintf(w.screen.out, "    %s  %s   %s status --config %s\n", name, w.urls[name], w.binary, filepath.Join(w.dir, name, "router.yaml"))
	}
	fmt.Fprintf(w.screen.out, "    publish at ams to exchange orders, any routing key: it arrives at nyc and sin in queue %s\n", routes[0].queue())
	if _, err := os.Stat(w.dir); err != nil {
		w.screen.say(err.Error())
	}
}
