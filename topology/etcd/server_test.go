package etcd_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/topology/etcd/embedded"
)

// server is a real etcd member that a test stops, starts, wipes and rolls back.
type server struct {
	t        *testing.T
	dir      string
	endpoint string
	member   *embedded.Server
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: t.TempDir()}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) start() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	member, err := embedded.Start(ctx, s.dir, embedded.Options{Listen: s.endpoint, NoSync: true, Tick: 10 * time.Millisecond})
	if err != nil {
		s.t.Fatal(err)
	}
	s.member, s.endpoint = member, member.Endpoint()
}

func (s *server) stop() {
	s.t.Helper()
	if s.member == nil {
		return
	}
	if err := s.member.Close(); err != nil {
		s.t.Error(err)
	}
	s.member = nil
}

// wipe puts an empty member in place of this one, at the same address.
func (s *server) wipe() {
	s.t.Helper()
	s.stop()
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

func (s *server) store() *etcd.Store {
	s.t.Helper()
	store, err := etcd.New(etcd.Config{Endpoints: []string{s.endpoint}, Check: time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = store.Close() })
	return store
}

// client is for what an admin does with etcdctl.
func (s *server) client() *clientv3.Client {
	s.t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.endpoint}, Logger: zap.NewNop()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// document has n routes from ams to nyc.
func document(t *testing.T, n int) *topology.Document {
	t.Helper()
	src := "sites: {ams: {listen: [ams:1]}, nyc: {}}\nroutes:\n"
	for i := range n {
		src += fmt.Sprintf("  r%d: {from: {site: ams, queue: q%d}, to: [{site: nyc, queue: a%d}]}\n", i, i, i)
	}
	d, err := topology.Parse("t", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func apply(t *testing.T, store *etcd.Store, change etcd.Change) etcd.Applied {
	t.Helper()
	applied, err := store.Apply(bounded(t), change)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}
