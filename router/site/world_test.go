package site_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
	"cloudqueue/localbroker/embedded"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/wan/pki"
)

// world is some sites on loopback: an embedded broker and a folder each, one topology file.
type world struct {
	t        testing.TB
	dir      string
	topology string
	ca       *pki.Authority
	sites    map[federation.SiteID]*member
}

// member is one site of a world.
type member struct {
	world  *world
	id     federation.SiteID
	broker *embedded.Broker
	fate   atomic.Pointer[func(embedded.Arrival) embedded.Fate] // of what is published there; nil: all goes well
	amqp   string                                               // its broker's address
	port   int
	stop   context.CancelFunc
	done   chan error

	endBroker func()
	folder    string // of its files, in the world's; empty: the site's name
}

func newWorld(t testing.TB, sites ...federation.SiteID) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "cq") // short: Unix sockets lie below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &world{t: t, dir: dir, sites: map[federation.SiteID]*member{}}
	ca, err := pki.NewAuthority("acme", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	w.ca = ca
	w.topology = filepath.Join(w.dir, "topology.yaml")
	for _, id := range sites {
		w.add(id)
	}
	return w
}

func (w *world) add(id federation.SiteID) {
	w.t.Helper()
	m := &member{world: w, id: id, port: freeUDPPort(w.t)}
	w.sites[id] = m
	m.startBroker()
	m.write("router.yaml", fmt.Sprintf(`site: %s
federation: acme
data-dir: data
listen: 127.0.0.1:%d
broker: {url: "amqp://%s/", username: guest, password: "file:password"}
topology: {file: ../topology.yaml}
certificates: {certificate: site.crt, key: site.key, authorities: ca.crt}
`, id, m.port, m.amqp))
	m.write("password", "guest")
	certificate, key, err := w.ca.Issue(id, time.Hour, time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	m.write("site.crt", string(certificate))
	m.write("site.key", string(key))
	m.write("ca.crt", string(w.ca.PEM()))
	if _, err := localdir.Init(filepath.Join(m.dir(), "data", "spool"), time.Now()); err != nil {
		w.t.Fatal(err)
	}
}

// addressed fills the sites' addresses in for %(site).
func (w *world) addressed(text string) string {
	for id, m := range w.sites {
		text = strings.ReplaceAll(text, "%("+string(id)+")", fmt.Sprintf("127.0.0.1:%d", m.port))
	}
	return text
}

// apply writes the topology of all sites that follow the world's file.
func (w *world) apply(text string) {
	w.t.Helper()
	w.applyTo(w.topology, text)
}

func (w *world) applyTo(path, text string) {
	w.t.Helper()
	next := path + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(w.addressed(text)), 0o600), os.Rename(next, path)); err != nil {
		w.t.Fatal(err)
	}
}

func (m *member) dir() string { return filepath.Join(m.world.dir, cmp.Or(m.folder, string(m.id))) }

func (m *member) write(name, text string) {
	m.world.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Join(m.dir(), "data"), 0o700), os.WriteFile(filepath.Join(m.dir(), name), []byte(text), 0o600)); err != nil {
		m.world.t.Fatal(err)
	}
}

// startBroker runs an empty broker at the site's address, or at a free one, until endBroker or the test's end.
func (m *member) startBroker() {
	t := m.world.t
	t.Helper()
	if m.amqp == "" {
		m.amqp = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", m.amqp)
	if err != nil {
		t.Fatal(err)
	}
	m.broker, m.amqp = embedded.New(embedded.Config{Users: map[string]embedded.User{"guest": {Password: "guest"}, "alice": {Password: "alice"}}, Fate: m.meets}), l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	broker := m.broker
	go func() { done <- broker.Serve(ctx, l) }()
	m.endBroker = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(m.endBroker)
}

func (m *member) meets(a embedded.Arrival) embedded.Fate {
	if fate := m.fate.Load(); fate != nil {
		return (*fate)(a)
	}
	return embedded.FateNormal
}

// start runs the site's router in this process until stopRouter or the test's end.
func (m *member) start() {
	t := m.world.t
	t.Helper()
	cfg, err := site.ReadConfig(filepath.Join(m.dir(), "router.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
	s, err := site.Open(t.Context(), cfg, "test", log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.stop, m.done = cancel, make(chan error, 1)
	go func() { m.done <- s.Run(ctx) }()
	t.Cleanup(m.stopRouter)
}

func (m *member) stopRouter() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.stop = nil
	select {
	case err := <-m.done:
		if err != nil {
			m.world.t.Errorf("router of %s: %v", m.id, err)
		}
	case <-time.After(30 * time.Second):
		m.world.t.Errorf("router of %s does not stop", m.id)
	}
}

// testLog writes a router's log into the test's.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func freeUDPPort(t testing.TB) int {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).Port
}

// channel is a client of the site's broker.
func (m *member) channel() *amqp.Channel {
	m.world.t.Helper()
	return m.channelAs("guest")
}

func (m *member) channelAs(user string) *amqp.Channel {
	t := m.world.t
	t.Helper()
	conn, err := amqp.Dial("amqp://" + user + ":" + user + "@" + m.amqp + "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// declare makes a topic exchange and, unless the name is empty, a queue bound to all of it.
func (m *member) declare(exchange, queue string) {
	t := m.world.t
	t.Helper()
	ch := m.channel()
	if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if queue == "" {
		return
	}
	_, err := ch.QueueDeclare(queue, true, false, false, false, nil)
	if err = errors.Join(err, ch.QueueBind(queue, "#", exchange, false, nil)); err != nil {
		t.Fatal(err)
	}
}

// publish sends bodies first … last with confirms, once the router has bound its queue.
func (m *member) publish(exchange string, first, last int) {
	m.world.t.Helper()
	m.publishOn(m.confirming(), exchange, first, last)
}

func (m *member) confirming() *amqp.Channel {
	m.world.t.Helper()
	ch := m.channel()
	if err := ch.Confirm(false); err != nil {
		m.world.t.Fatal(err)
	}
	return ch
}

func (m *member) publishOn(ch *amqp.Channel, exchange string, first, last int) {
	t := m.world.t
	t.Helper()
	var open []*amqp.DeferredConfirmation
	for i := first; i <= last; i++ {
		c, err := ch.PublishWithDeferredConfirm(exchange, "orders.new", true, false, amqp.Publishing{Body: fmt.Appendf(nil, "m%d", i), DeliveryMode: 2})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	for _, c := range open {
		if !c.Wait() {
			t.Fatal("the broker refuses a message")
		}
	}
}

// eventually waits until ok holds; it looks often, and gives up after a time that only a broken program needs.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// bound waits until the router of the site takes from a queue.
func (m *member) bound(queue string) {
	m.world.t.Helper()
	eventually(m.world.t, "somebody consumes "+queue, func() bool {
		q, ok := m.broker.Queue(queue)
		return ok && q.Consumers == 1
	})
}

// bodies are what stands in a queue, oldest first; a flagged one has a star.
func (m *member) bodies(queue string) []string {
	var out []string
	for _, msg := range m.broker.Snapshot(queue) {
		body := string(msg.Body)
		if strings.Contains(string(msg.Properties), "x-cq-duplicatet\x01") {
			body += "*"
		}
		out = append(out, body)
	}
	return out
}

// client asks the site's router over its admin socket.
func (m *member) client() *admin.Client {
	c := admin.NewClient(filepath.Join(m.dir(), "data", "admin.sock"))
	m.world.t.Cleanup(c.Close)
	return c
}

func (m *member) status() *admin.Status {
	st, err := m.client().Status(m.world.t.Context())
	if err != nil {
		return &admin.Status{} // not up yet: the caller looks again
	}
	return st
}

// laneIn is what status says of the lane that ends here.
func (m *member) laneIn(lane string) admin.InLane {
	for _, l := range m.status().In {
		if l.Lane == lane {
			return l
		}
	}
	return admin.InLane{}
}

func (m *member) laneOut(lane string) admin.OutLane {
	for _, l := range m.status().Out {
		if l.Lane == lane {
			return l
		}
	}
	return admin.OutLane{}
}

// receipted waits until every destination has receipted everything that the lane assigned, and it assigned so many.
func (m *member) receipted(lane string, last federation.Offset) {
	m.world.t.Helper()
	eventually(m.world.t, fmt.Sprintf("lane %s receipted to %d", lane, last), func() bool {
		l := m.laneOut(lane)
		for _, d := range l.Destinations {
			if d.Receipted != last {
				return false
			}
		}
		return l.LastAssigned == last
	})
}

// balanced fails the test unless the books of the running router balance.
func (m *member) balanced() {
	t := m.world.t
	t.Helper()
	books, err := m.client().Books(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range books.Lines {
		if !line.Balanced {
			t.Errorf("books of %s: %s %s → %s: %s", m.id, line.Side, line.Lane, line.Destination, line.Problem)
		}
	}
}

// firsts are the first appearances, flagged or not, in their order.
func firsts(bodies []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, b := range bodies {
		if b = strings.TrimSuffix(b, "*"); !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}

// unrepeated fails the test when an unflagged message had appeared before (G3).
func unrepeated(t *testing.T, bodies []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, b := range bodies {
		name, flagged := strings.CutSuffix(b, "*")
		if seen[name] && !flagged {
			t.Errorf("%s appears again, unflagged", name)
		}
		seen[name] = true
	}
}
