package site_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/admin"
	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/topology/etcd/embedded"
)

// directory is an etcd of one member that holds the world's topology.
type directory struct {
	w      *world
	dir    string
	listen string // comes back after a restart
	server *embedded.Server
}

func (w *world) directory() *directory {
	w.t.Helper()
	d := &directory{w: w, dir: filepath.Join(w.dir, "etcd")}
	d.start()
	d.listen = d.server.Endpoint()
	for id, m := range w.sites {
		file := filepath.Join(m.dir(), "router.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		if !strings.Contains(string(text), "topology: {file: ../topology.yaml}") {
			w.t.Fatalf("the file of %s has another topology: %s", id, text)
		}
		m.write("router.yaml", strings.Replace(string(text), "topology: {file: ../topology.yaml}", "etcd: {endpoints: [\"http://"+d.listen+"\"], timeout: 1s}", 1))
	}
	return d
}

func (d *directory) start() {
	d.w.t.Helper()
	server, err := embedded.Start(d.w.t.Context(), d.dir, embedded.Options{Listen: d.listen, NoSync: true, Tick: 20 * time.Millisecond})
	if err != nil {
		d.w.t.Fatal(err)
	}
	d.server = server
	d.w.t.Cleanup(d.stop)
}

func (d *directory) stop() {
	if err := d.server.Close(); err != nil {
		d.w.t.Error(err)
	}
}

// wipe ends the member and deletes its data.
func (d *directory) wipe() {
	d.w.t.Helper()
	d.stop()
	if err := os.RemoveAll(d.dir); err != nil {
		d.w.t.Fatal(err)
	}
}

// apply puts a topology into etcd, as an admin does.
func (d *directory) apply(text string, atLeast uint64) {
	t := d.w.t
	t.Helper()
	document, err := topology.Parse("topology.yaml", []byte(d.w.addressed(text)))
	if err != nil {
		t.Fatal(err)
	}
	store, err := etcd.New(etcd.Config{Endpoints: []string{"http://" + d.listen}, Federation: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Apply(t.Context(), etcd.Change{Document: document, AtLeast: atLeast, Author: "test"})
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestTrafficGoesOnWithoutEtcdAcrossRestartsAndWithAWipedOne(t *testing.T) {
	ams, nyc := pair(t, twoSites)
	d := ams.world.directory()
	d.apply(twoSites, 0)
	ams.start()
	nyc.start()
	ams.bound("cq.out.orders")
	ams.publish("orders", 1, 10)
	ams.receipted("ams/orders", 10)

	d.stop()
	ams.publish("orders", 11, 20)
	ams.receipted("ams/orders", 20)
	for _, m := range []*member{ams, nyc} { // and nothing but the last good copy is there
		m.stopRouter()
		m.start()
	}
	ams.bound("cq.out.orders")
	ams.publish("orders", 21, 30)
	ams.receipted("ams/orders", 30)
	eventually(t, "status says that etcd is away and the last good topology in force", func() bool {
		st := ams.status().Topology
		return st.Origin == "last-good" && !st.State.Healthy() && st.Reason != ""
	})

	d.wipe()
	d.start()
	eventually(t, "status says that etcd has no topology, and what to do", func() bool {
		st := ams.status().Topology
		return st.Origin == "last-good" && !st.State.Healthy() && st.Fix != ""
	})
	ams.publish("orders", 31, 40)
	ams.receipted("ams/orders", 40)
	d.apply(twoRoutes, ams.status().Topology.Version+1)
	ams.declare("more", "")
	nyc.declare("more", "more-in")
	ams.bound("cq.out.more")
	ams.publish("more", 1, 10)
	ams.receipted("ams/more", 10)

	if diff := cmp.Diff(numbered(1, 40), nyc.bodies("in")); diff != "" {
		t.Errorf("at nyc (-want +got):\n%s", diff)
	}
	eventually(t, "the topology is that of etcd again", func() bool {
		st := ams.status().Topology
		return st.State == admin.Running && st.Origin == "etcd"
	})
	ams.balanced()
	nyc.balanced()
}
