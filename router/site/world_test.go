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

	"cloudqueue/federation"
	"cloudqueue/localbroker/embedded"
	"cloudqueue/router/admin"
	"cloudqueue/router/site"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/sim/parts"
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

	asking sync.Once
	asks   *admin.Client // made by the first question

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
	m := &member{world: w, id: id, port: freePort(w.t)}
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
	if _, err := localdir.Init(m.storeDir(), m.home(), time.Now()); err != nil {
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
	m.broker, m.amqp = embedded.New(embedded.Config{Users: map[string]embedded.User{"guest": {Password: "guest"}, "alice": {Password: "alice"}},
		Limits: embedded.Limits{MessageBytes: 32 << 20}, Fate: m.meets}), l.Addr().String()
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

func freePort(t testing.TB) int {
	t.Helper()
	port, err := parts.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}
