package etcd_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

// One walk through all calls on a real member; the faults are in integration_test.go.
func TestStoreKeepsWhatIsAppliedWithItsHistory(t *testing.T) {
	store := startServer(t).store()
	if _, err := store.Get(bounded(t)); !errors.Is(err, topology.ErrMissing) {
		t.Fatalf("an empty etcd gave %v, want %v", err, topology.ErrMissing)
	}

	first := apply(t, store, etcd.Change{Document: document(t, 1), Author: "ann", Comment: "one"})
	second := apply(t, store, etcd.Change{Document: document(t, 2), IfVersion: 1, Author: "bob"})
	again := apply(t, store, etcd.Change{Document: document(t, 2)})

	if first.Version != 1 || second.Version != 2 || again.Version != 2 || !again.Unchanged {
		t.Errorf("versions %d, %d, %d (unchanged %v); want 1, 2, 2 (unchanged)", first.Version, second.Version, again.Version, again.Unchanged)
	}
	got, err := store.Get(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(second.Stored, got); diff != "" {
		t.Errorf("in force (-applied +got):\n%s", diff)
	}
	history, err := store.History(bounded(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]topology.Stored{second.Stored, first.Stored}, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if old, err := store.GetVersion(bounded(t), 1); err != nil || old.Comment != "one" {
		t.Errorf("version 1: %+v, %v", old, err)
	}
	if _, err := store.GetVersion(bounded(t), 3); !errors.Is(err, topology.ErrMissing) {
		t.Errorf("version 3 gave %v, want %v", err, topology.ErrMissing)
	}
}

func TestNewWantsEndpointsAndALimit(t *testing.T) {
	for name, cfg := range map[string]etcd.Config{"no endpoints": {}, "no limit": {Endpoints: []string{"localhost:1"}, Timeout: -1}} {
		if _, err := etcd.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
