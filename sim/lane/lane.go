// Package lane sets up the smallest federation for tests: orders go from ams to nyc.
//
//	exchange orders ─► cq.out.orders ─► router ams ══► router nyc ─► exchange orders ─► orders-in
//
// The routers are child processes with files of their own; what brokers they have is the test's choice. Everything that is
// started ends with the test. Stories that need other routes or more sites set up theirs with sim/parts.
package lane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/parts"
)

// Names of the lane.
const (
	Name        = "ams/orders"
	Exchange    = "orders" // at both sites
	SourceQueue = "cq.out.orders"
	Queue       = "orders-in" // at nyc
)

// Dir makes a folder for everything. Its path is short, as Unix sockets lie below it; t.TempDir's is not.
func Dir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Broker starts an embedded broker: it and its URL.
func Broker(t *testing.T, config embedded.Config) (*embedded.Broker, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := embedded.New(config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return b, "amqp://guest:guest@" + l.Addr().String() + "/"
}

// Declare makes the exchange, and queues that get everything from it.
func Declare(t *testing.T, url string, queues ...string) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	err = ch.ExchangeDeclare(Exchange, "topic", true, false, false, false, nil)
	for _, queue := range queues {
		_, declared := ch.QueueDeclare(queue, true, false, false, false, nil)
		err = errors.Join(err, declared, ch.QueueBind(queue, "#", Exchange, false, nil))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Sites makes the two sites' files in dir, and cloudqueue itself there, for brokers with these URLs. It starts no router.
func Sites(ctx context.Context, t *testing.T, dir, ams, nyc string) *parts.Federation {
	t.Helper()
	binary, err := parts.Build(ctx, dir, "cloudqueue/cmd/cloudqueue")
	if err != nil {
		t.Fatal(err)
	}
	amsPort, nycPort := Port(t), Port(t)
	sites, err := parts.NewFederation(ctx, parts.FederationConfig{Binary: binary, Dir: dir, Topology: Topology(amsPort, nycPort),
		Sites: []parts.SiteConfig{{Name: "ams", Broker: ams, Listen: amsPort}, {Name: "nyc", Broker: nyc, Listen: nycPort}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sites.Kill)
	return sites
}

// Started is Sites with both routers running.
func Started(ctx context.Context, t *testing.T, dir, ams, nyc string) *parts.Federation {
	t.Helper()
	sites := Sites(ctx, t, dir, ams, nyc)
	if err := sites.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return sites
}

// Topology is the document, with the ports that the routers listen on.
func Topology(ams, nyc int) string {
	return fmt.Sprintf(`sites:
  ams: {listen: ["127.0.0.1:%d"]}
  nyc: {listen: ["127.0.0.1:%d"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["#"]}
    to: [{site: nyc}]
`, ams, nyc)
}

// Port is one that is free.
func Port(t *testing.T) int {
	t.Helper()
	port, err := parts.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
