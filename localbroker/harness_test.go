package localbroker_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
	"cloudqueue/localbroker/embedded"
)

// world is an embedded broker, our side of it and a client of a service, over pipes and in virtual time.
type world struct {
	t      *testing.T
	ctx    context.Context
	broker *embedded.Broker
	ours   *localbroker.Broker
	run    chan error

	mu    sync.Mutex // guards conns: our open connections, newest last
	conns []net.Conn
}

// inWorld runs story in a bubble of virtual time, and afterwards waits for everything to end.
func inWorld(t *testing.T, change func(*localbroker.Config), story func(*world)) {
	t.Helper()
	inWorldOf(t, embedded.Limits{}, change, story)
}

// inWorldOf is inWorld with a broker of such limits.
func inWorldOf(t *testing.T, limits embedded.Limits, change func(*localbroker.Config), story func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := &world{t: t, ctx: ctx, run: make(chan error, 1), broker: embedded.New(embedded.Config{Heartbeat: 10 * time.Second, Limits: limits})}
		cfg := localbroker.Config{URL: "amqp://broker/", Site: "ams", Dial: w.dial}
		if change != nil {
			change(&cfg)
		}
		ours, err := localbroker.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		w.ours = ours
		go func() { w.run <- ours.Run(ctx) }()
		synctest.Wait()
		story(w)
		stop()
		<-w.run
		done, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.broker.Close(done); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go w.broker.ServeConn(context.WithoutCancel(w.ctx), server)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, client)
	return client, nil
}

// cut ends all our connections without a goodbye.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

// service gives a channel of an ordinary client.
func (w *world) service() *amqp.Channel {
	w.t.Helper()
	client, server := net.Pipe()
	go w.broker.ServeConn(context.WithoutCancel(w.ctx), server)
	conn, err := amqp.Open(client, amqp.Config{SASL: []amqp.Authentication{&amqp.PlainAuth{Username: "guest", Password: "guest"}}, Vhost: "/", Locale: "en_US"})
	must(w.t, err)
	ch, err := conn.Channel()
	must(w.t, err)
	w.t.Cleanup(func() { _ = conn.Close() })
	return ch
}

func (w *world) publish(exchange, key string, bodies ...string) {
	w.t.Helper()
	ch := w.service()
	must(w.t, ch.Confirm(false))
	for _, body := range bodies {
		c, err := ch.PublishWithDeferredConfirm(exchange, key, true, false, amqp.Publishing{Body: []byte(body), DeliveryMode: 2})
		must(w.t, err)
		if !c.Wait() {
			w.t.Fatalf("publish of %q was not confirmed", body)
		}
	}
}

// declareTopic declares the exchange "orders".
func (w *world) declareTopic() {
	w.t.Helper()
	must(w.t, w.service().ExchangeDeclare("orders", "topic", true, false, false, false, nil))
}

// next gives the next delivery, which has to come within a minute.
func (w *world) next(c *localbroker.Consumer) federation.Delivery {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	d, err := c.Next(ctx)
	if err != nil {
		w.t.Fatalf("next delivery: %v; the consumer says %+v", err, c.State())
	}
	return d
}

func (w *world) nextBody(c *localbroker.Consumer) string {
	w.t.Helper()
	return string(w.next(c).Message.Body)
}

// nothing checks that no delivery comes for a while.
func (w *world) nothing(c *localbroker.Consumer, d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	if d, err := c.Next(ctx); err == nil {
		w.t.Fatalf("an unexpected delivery: %+v", d)
	}
}

func (w *world) acquire(p *localbroker.Publisher) uint64 {
	w.t.Helper()
	return w.acquireOn(p, false)
}

func (w *world) acquireOn(p *localbroker.Publisher, apart bool) uint64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 2*time.Minute)
	defer cancel()
	incarnation, err := p.Acquire(ctx, apart)
	if err != nil {
		w.t.Fatalf("acquire, apart %v: %v; the publisher says %+v", apart, err, p.State())
	}
	return incarnation
}

// outcomes collects what publishes end in.
type outcomes struct {
	mu  sync.Mutex // guards all
	all map[string][]federation.Outcome
}

func (o *outcomes) of(name string) func(federation.Outcome) {
	return func(result federation.Outcome) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.all == nil {
			o.all = map[string][]federation.Outcome{}
		}
		o.all[name] = append(o.all[name], result)
	}
}

// kinds gives the kinds by name; a name that was told twice or not at all shows.
func (o *outcomes) kinds() map[string][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	kinds := map[string][]string{}
	for name, results := range o.all {
		for _, r := range results {
			kinds[name] = append(kinds[name], r.Kind.String())
		}
	}
	return kinds
}

func (o *outcomes) get(name string) federation.Outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all[name]) != 1 {
		return federation.Outcome{Kind: 255, Text: "told other than once"}
	}
	return o.all[name][0]
}

// message is persistent and has no headers.
func message(exchange, key, body string) federation.Message {
	return federation.Message{Exchange: exchange, RoutingKey: key, Properties: []byte{0x10, 0x00, 2}, Body: []byte(body)}
}

func own() federation.Source {
	return federation.Source{Queue: "cq.out.orders", Exchange: "orders", Keys: []string{"eu.#"}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) bodies(queue string) []string {
	var all []string
	for _, m := range w.broker.Snapshot(queue) {
		all = append(all, string(m.Body))
	}
	return all
}
