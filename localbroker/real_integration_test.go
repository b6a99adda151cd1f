//go:build integration

package localbroker_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker"
)

// real is our side of a real RabbitMQ, and an ordinary client of it. Its names begin with the test's.
type real struct {
	t       *testing.T
	ctx     context.Context
	url     string
	name    string
	ours    *localbroker.Broker
	service *amqp.Channel
	proxy   *proxy
	stop    context.CancelFunc
	ran     chan error
}

func testURL(t *testing.T) string {
	t.Helper()
	address := os.Getenv("CLOUDQUEUE_TEST_AMQP")
	if address == "" {
		t.Fatal("CLOUDQUEUE_TEST_AMQP names no RabbitMQ, for example amqp://guest:guest@127.0.0.1:5672/")
	}
	return address
}

func onReal(t *testing.T, change func(*localbroker.Config)) *real {
	t.Helper()
	return onBroker(t, testURL(t), change)
}

func onBroker(t *testing.T, address string, change func(*localbroker.Config)) *real {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	r := &real{t: t, ctx: ctx, url: address, name: strings.ToLower(t.Name()), proxy: newProxy(t, address)}
	conn, err := amqp.Dial(address)
	must(t, err)
	r.service, err = conn.Channel()
	must(t, err)
	r.ours = r.another(change)
	runCtx, stop := context.WithCancel(ctx)
	r.stop, r.ran = stop, make(chan error, 1)
	go func() { r.ran <- r.ours.Run(runCtx) }()
	t.Cleanup(func() {
		stop()
		<-r.ran
		cancel()
		_ = conn.Close()
		r.deleteQueues()
	})
	return r
}

// another makes a second router's side, which does not run yet.
func (r *real) another(change func(*localbroker.Config)) *localbroker.Broker {
	r.t.Helper()
	u, err := url.Parse(r.url)
	must(r.t, err)
	password, _ := u.User.Password()
	cfg := localbroker.Config{URL: "amqp://" + r.proxy.address() + "/", Username: u.User.Username(), Password: password, Site: federation.SiteID(r.name)}
	if change != nil {
		change(&cfg)
	}
	b, err := localbroker.New(cfg)
	must(r.t, err)
	return b
}

// deleteQueues takes away what the tests made, on a connection of its own.
func (r *real) deleteQueues() {
	conn, err := amqp.Dial(r.url)
	must(r.t, err)
	defer conn.Close()
	for _, name := range []string{r.name, r.source().Queue, "cq.owner." + r.name + ".0", "cq.owner." + r.name + ".1"} {
		ch, err := conn.Channel()
		must(r.t, err)
		_, err = ch.QueueDelete(name, false, false, false)
		must(r.t, err)
		must(r.t, ch.ExchangeDelete(r.name, false, false))
	}
}

func (r *real) source() federation.Source {
	return federation.Source{Queue: "cq.out." + r.name, Exchange: r.name, Keys: []string{"eu.#"}}
}

// queue declares the queue that is published to.
func (r *real) queue() {
	r.t.Helper()
	_, err := r.service.QueueDeclare(r.name, true, false, false, false, nil)
	must(r.t, err)
}

func (r *real) exchange() {
	r.t.Helper()
	must(r.t, r.service.ExchangeDeclare(r.name, "topic", true, false, false, false, nil))
}

func (r *real) publish(exchange, key string, bodies ...string) {
	r.t.Helper()
	for _, body := range bodies {
		must(r.t, r.service.Publish(exchange, key, false, false, amqp.Publishing{Body: []byte(body), DeliveryMode: 2}))
	}
}

func (r *real) eventually(what string, reached func() bool) {
	r.t.Helper()
	for !reached() {
		select {
		case <-r.ctx.Done():
			r.t.Fatalf("%s: not within 90 s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *real) running(part interface{ State() federation.PartState }) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("running, %+v", part.State()), func() bool { return part.State().State == "running" })
}

func (r *real) next(c *localbroker.Consumer) federation.Delivery {
	r.t.Helper()
	d, err := c.Next(r.ctx)
	if err != nil {
		r.t.Fatalf("%v: %+v", err, c.State())
	}
	return d
}

func (r *real) acquire(p *localbroker.Publisher) uint64 {
	r.t.Helper()
	incarnation, err := p.Acquire(r.ctx, false)
	if err != nil {
		r.t.Fatalf("%v: %+v", err, p.State())
	}
	return incarnation
}

// messages drains a queue with basic.get.
func (r *real) messages(queue string) (bodies []string) {
	r.t.Helper()
	for {
		d, ok, err := r.service.Get(queue, true)
		must(r.t, err)
		if !ok {
			return bodies
		}
		bodies = append(bodies, string(d.Body))
	}
}

// proxy passes TCP to the broker until it is told to cut, or to swallow: then both ends see an open connection and nothing comes.
type proxy struct {
	t        *testing.T
	listener net.Listener
	to       string
	swallow  atomic.Bool // for connections that exist when it is set

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newProxy(t *testing.T, address string) *proxy {
	u, err := url.Parse(address)
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{t: t, listener: l, to: u.Host}
	go p.accept()
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	return p
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		a, err := p.listener.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = a.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, a, b)
		p.mu.Unlock()
		gone := new(atomic.Bool)
		go p.pass(a, b, gone)
		go p.pass(b, a, gone)
	}
}

func (p *proxy) pass(from, to net.Conn, gone *atomic.Bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if p.swallow.Load() {
			gone.Store(true)
		}
		if gone.Load() && err == nil {
			continue
		}
		if err != nil {
			if !gone.Load() {
				_ = to.Close()
			}
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// cut resets all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	p.conns = nil
}
