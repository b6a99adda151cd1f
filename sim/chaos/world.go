package chaos

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/parts"
)

// lane is a stream of the topology with the queues where it ends.
type lane struct {
	site     string // of its origin
	exchange string // at every site; the route's id too
	outlets  []outlet
}

func (l lane) name() string { return l.site + "/" + l.exchange }

// outlet is a queue at a destination that nobody consumes, beside one that is watched.
type outlet struct{ site, queue string }

var lanes = []lane{
	{site: "ams", exchange: "orders", outlets: []outlet{{"nyc", "orders-in"}, {"sin", "orders-in"}}},
	{site: "nyc", exchange: "audit", outlets: []outlet{{"ams", "audit-in"}}},
}

var siteNames = []string{"ams", "nyc", "sin"}

// World is the parts of a run.
type World struct {
	dir            string
	source, target *parts.RabbitMQ
	etcd           *parts.Etcd
	sites          *parts.Federation
	appeared       map[account]uint64 // offsets that stood in the queues so far
}

// NewWorld builds the binaries, starts every part, and returns when the lanes take messages. dir must have a short path.
func NewWorld(ctx context.Context, dir string) (*World, error) {
	w := &World{dir: dir, appeared: map[account]uint64{}}
	for _, step := range []func(context.Context) error{w.startBrokers, w.startEtcd, w.startRouters, w.waitBound} {
		if err := step(ctx); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Close ends every part at once.
func (w *World) Close() {
	if w.sites != nil {
		w.sites.Kill()
	}
	if w.etcd != nil {
		w.etcd.Kill()
	}
	for _, node := range []*parts.RabbitMQ{w.source, w.target} {
		if node != nil {
			node.Close()
		}
	}
}

func (w *World) startBrokers(ctx context.Context) (err error) {
	if w.source, err = parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: "chaos1", Dir: filepath.Join(w.dir, "rabbitmq1")}); err != nil {
		return err
	}
	if w.target, err = parts.StartRabbitMQ(ctx, parts.RabbitMQConfig{Name: "chaos2", Dir: filepath.Join(w.dir, "rabbitmq2")}); err != nil {
		return err
	}
	if _, err := w.target.Control(ctx, "add_vhost", "sin"); err != nil {
		return err
	}
	if _, err := w.target.Control(ctx, "set_permissions", "--vhost", "sin", "guest", ".*", ".*", ".*"); err != nil {
		return err
	}
	return w.declare()
}

// declare makes the exchanges and the destination queues.
func (w *World) declare() error {
	for _, l := range lanes {
		if err := w.declareAt(l.site, l.exchange); err != nil {
			return err
		}
		for _, o := range l.outlets {
			if err := w.declareAt(o.site, l.exchange, o.queue, o.watched()); err != nil {
				return err
			}
		}
	}
	return nil
}

// declareAt makes an exchange at a site, and queues that get everything from it.
func (w *World) declareAt(site, exchange string, queues ...string) error {
	return onChannel(w.brokerURL(site), func(c *amqp.Channel) error {
		if err := c.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
			return err
		}
		for _, queue := range queues {
			if _, err := c.QueueDeclare(queue, true, false, false, false, nil); err != nil {
				return err
			}
			if err := c.QueueBind(queue, "#", exchange, false, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// brokerURL is a site's broker; sin is a virtual host of nyc's.
func (w *World) brokerURL(site string) string {
	switch site {
	case "ams":
		return w.source.URL()
	case "sin":
		u, err := url.Parse(w.target.URL())
		if err != nil {
			panic(err) // parts made it
		}
		u.Path = "/sin"
		return u.String()
	}
	return w.target.URL()
}

func (w *World) startEtcd(ctx context.Context) error {
	binary, err := parts.Build(ctx, w.dir, parts.EtcdCommand)
	if err != nil {
		return err
	}
	if w.etcd, err = parts.NewEtcd(binary, filepath.Join(w.dir, "etcd-data")); err != nil {
		return err
	}
	return w.etcd.Start(ctx)
}

func (w *World) startRouters(ctx context.Context) error {
	binary, err := parts.Build(ctx, w.dir, "cloudqueue/cmd/cloudqueue")
	if err != nil {
		return err
	}
	config := parts.FederationConfig{Binary: binary, Dir: w.dir, Etcd: w.etcd.URL()}
	listen := map[string]int{}
	for _, site := range siteNames {
		if listen[site], err = parts.FreePort(); err != nil {
			return err
		}
		config.Sites = append(config.Sites, parts.SiteConfig{Name: site, Broker: w.brokerURL(site), Listen: listen[site]})
	}
	config.Topology = topology(listen)
	if w.sites, err = parts.NewFederation(ctx, config); err != nil {
		return err
	}
	return w.sites.Start(ctx)
}

// topology is the document: all sites linked, a route for each lane.
func topology(listen map[string]int) string {
	var b strings.Builder
	b.WriteString("api-version: cloudqueue/v1\nsites:\n")
	for _, site := range siteNames {
		fmt.Fprintf(&b, "  %s: {listen: [\"127.0.0.1:%d\"]}\n", site, listen[site])
	}
	b.WriteString("routes:\n")
	for _, l := range lanes {
		var to []string
		for _, o := range l.outlets {
			to = append(to, fmt.Sprintf("{site: %s}", o.site))
		}
		fmt.Fprintf(&b, "  %s:\n    from: {site: %s, exchange: %s, keys: [\"#\"]}\n    to: [%s]\n", l.exchange, l.site, l.exchange, strings.Join(to, ", "))
	}
	return b.String()
}

// waitBound waits until every route's queue is consumed: its router declared and bound it.
func (w *World) waitBound(ctx context.Context) error {
	for _, l := range lanes {
		err := until(ctx, func() error {
			return onChannel(w.brokerURL(l.site), func(c *amqp.Channel) error {
				q, err := c.QueueDeclarePassive(l.sourceQueue(), true, false, false, false, nil)
				if err == nil && q.Consumers == 0 {
					err = fmt.Errorf("nobody consumes %s", q.Name)
				}
				return err
			})
		})
		if err != nil {
			return fmt.Errorf("lane %s: %w", l.name(), err)
		}
	}
	return nil
}

// sourceQueue is the queue that the origin's router takes from.
func (l lane) sourceQueue() string { return "cq.out." + l.exchange }

// onChannel does something on a connection of its own.
func onChannel(url string, do func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	return do(channel)
}
