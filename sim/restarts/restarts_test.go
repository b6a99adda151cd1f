package restarts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
	"cloudqueue/sim/parts"
)

const (
	seed  = 1
	rate  = 400 // messages a second: some are always between publish and receipt
	lane  = "ams/orders"
	queue = "orders-in"
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
	dir, err := os.MkdirTemp("", "cq") // short: Unix sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ams, amsURL := startBroker(t)
	nyc, nycURL := startBroker(t)
	sites := startSites(ctx, t, dir, amsURL, nycURL)
	waitFor(ctx, t, func() bool { q, ok := ams.Queue("cq.out.orders"); return ok && q.Consumers == 1 })
	publisher := load.NewPublisher(load.PublisherConfig{URL: amsURL, Exchange: "orders", RoutingKey: "orders.new", Lane: lane, Seed: seed, Rate: rate})
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
		verdict = check.Judge(check.History{Lane: lane, Queue: "nyc " + queue, Published: publisher.Published(), Appeared: appeared(nyc)})
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

func startBroker(t *testing.T) (*embedded.Broker, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := embedded.New(embedded.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	url := "amqp://guest:guest@" + l.Addr().String() + "/"
	declare(t, url)
	return b, url
}

func declare(t *testing.T, url string) {
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
	_, err = ch.QueueDeclare(queue, true, false, false, false, nil)
	if err = errors.Join(err, ch.ExchangeDeclare("orders", "topic", true, false, false, false, nil)); err != nil {
		t.Fatal(err)
	}
	if err := ch.QueueBind(queue, "#", "orders", false, nil); err != nil {
		t.Fatal(err)
	}
}

func startSites(ctx context.Context, t *testing.T, dir, amsURL, nycURL string) *parts.Federation {
	t.Helper()
	binary, err := parts.Build(ctx, dir, "cloudqueue/cmd/cloudqueue")
	if err != nil {
		t.Fatal(err)
	}
	ports := [2]int{}
	for i := range ports {
		if ports[i], err = parts.FreePort(); err != nil {
			t.Fatal(err)
		}
	}
	sites, err := parts.NewFederation(ctx, parts.FederationConfig{Binary: binary, Dir: dir, Topology: fmt.Sprintf(`sites:
  ams: {listen: ["127.0.0.1:%d"]}
  nyc: {listen: ["127.0.0.1:%d"]}
routes:
  orders:
    from: {site: ams, exchange: orders, keys: ["#"]}
    to: [{site: nyc}]
`, ports[0], ports[1]), Sites: []parts.SiteConfig{{Name: "ams", Broker: amsURL, Listen: ports[0]}, {Name: "nyc", Broker: nycURL, Listen: ports[1]}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sites.Kill)
	if err := sites.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return sites
}

func ready(b *embedded.Broker) int {
	q, _ := b.Queue(queue)
	return q.Ready
}

func appeared(b *embedded.Broker) []check.Appearance {
	return load.Appearances(b.Snapshot(queue), seed)
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
