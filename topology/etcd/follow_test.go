//go:build integration

package etcd_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

// follow runs a follower of ams on the store.
func follow(t *testing.T, store *etcd.Store, dir string) *topology.Follower {
	t.Helper()
	f, err := topology.NewFollower(topology.FollowerConfig{Site: "ams", Router: "r1", Source: store.Source(), LastGood: filepath.Join(dir, "last-good.yaml"), Reporter: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("Run did not end")
		}
	})
	return f
}

// awaitVersion applies snapshots until one has the version.
func awaitVersion(t *testing.T, f *topology.Follower, version uint64) topology.Snapshot {
	t.Helper()
	ctx := bounded(t)
	for {
		select {
		case s := <-f.Snapshots():
			if err := f.Applied(ctx, s); err != nil {
				t.Fatal(err)
			}
			if s.Version == version {
				return s
			}
		case <-ctx.Done():
			t.Fatalf("version %d did not come; status %+v", version, f.Status())
		}
	}
}

// awaitStatus waits until the follower says something of itself.
func awaitStatus(t *testing.T, f *topology.Follower, what string, holds func(topology.Status) bool) {
	t.Helper()
	ctx := bounded(t)
	for !holds(f.Status()) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not come; status %+v", what, f.Status())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestFollowerSeesAnApplyAndReportsIt(t *testing.T) {
	store := startServer(t).store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)

	began := time.Now()
	apply(t, store, etcd.Change{Document: document(t, 2)})
	awaitVersion(t, f, 2)
	t.Logf("from apply to snapshot: %v", time.Since(began))

	ctx := bounded(t)
	for {
		reports, err := store.Reports(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(reports) == 1 && reports[0].Version == 2 && reports[0].Site == "ams" {
			return
		}
	}
}

func TestFollowerReadsAgainAfterACompaction(t *testing.T) {
	server := startServer(t)
	store, client := server.store(), server.client()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	source := store.Source()
	if _, err := source.Read(bounded(t)); err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 6; i++ {
		apply(t, store, etcd.Change{Document: document(t, i)})
	}
	got, err := client.Get(bounded(t), current)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(bounded(t), got.Header.Revision); err != nil {
		t.Fatal(err)
	}

	err = source.Wait(bounded(t))
	stored, readErr := source.Read(bounded(t))

	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("watch of a compacted revision: %v, want an error at once", err)
	}
	if readErr != nil || stored.Version != 5 {
		t.Errorf("read after it: version %d, %v; want 5", stored.Version, readErr)
	}
}

func TestCompactionBelowARunningWatchDoesNoHarm(t *testing.T) {
	server := startServer(t)
	store, client := server.store(), server.client()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)
	for range 20 {
		if _, err := client.Put(bounded(t), "/somebody/else", "x"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := client.Get(bounded(t), current)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(bounded(t), got.Header.Revision); err != nil {
		t.Fatal(err)
	}

	apply(t, store, etcd.Change{Document: document(t, 2)})

	awaitVersion(t, f, 2)
}

func TestWipedEtcdChangesNothingAndTheNextApplyGoesOnFromWhatRuns(t *testing.T) {
	server := startServer(t)
	store := server.store()
	for i := 1; i < 4; i++ {
		apply(t, store, etcd.Change{Document: document(t, i)})
	}
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 3)

	server.wipe()
	awaitStatus(t, f, "the trouble", func(s topology.Status) bool { return s.Trouble != "" })
	ctx := bounded(t)
	for reports := []topology.Report(nil); len(reports) == 0; { // the router reports again by itself
		reports, _ = store.Reports(ctx)
		if ctx.Err() != nil {
			t.Fatal("no report came after the wipe")
		}
	}
	if s := f.Status(); s.Version != 3 {
		t.Errorf("version %d in force after the wipe, want 3", s.Version)
	}

	applied := apply(t, store, etcd.Change{Document: document(t, 4)})

	if applied.Version != 4 {
		t.Errorf("first apply after the wipe got version %d, want 4", applied.Version)
	}
	awaitVersion(t, f, 4)
}

func TestDeletedKeyNeverDeletesARoute(t *testing.T) {
	server := startServer(t)
	store := server.store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)

	if _, err := server.client().Delete(bounded(t), "/cloudqueue", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}

	awaitStatus(t, f, "the trouble", func(s topology.Status) bool { return s.Trouble == "no topology there" })
	if s := f.Status(); s.Version != 1 {
		t.Errorf("version %d in force, want 1", s.Version)
	}
}

func TestRolledBackEtcdIsRefusedUntilALaterVersionComes(t *testing.T) {
	server := startServer(t)
	store, client := server.store(), server.client()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	apply(t, store, etcd.Change{Document: document(t, 2)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 2)

	old, err := client.Get(bounded(t), first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Put(bounded(t), current, string(old.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, f, "the refusal", func(s topology.Status) bool { return s.Refused != nil && s.Refused.Version == 1 })

	apply(t, store, etcd.Change{Document: document(t, 3), AtLeast: 3})
	awaitVersion(t, f, 3)
}

func TestDamagedValueIsToldAndTheLastGoodStaysInForce(t *testing.T) {
	server := startServer(t)
	store := server.store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)

	if _, err := server.client().Put(bounded(t), current, "sites: {}"); err != nil {
		t.Fatal(err)
	}

	awaitStatus(t, f, "the trouble", func(s topology.Status) bool { return s.Trouble != "" })
	if s := f.Status(); s.Version != 1 {
		t.Errorf("version %d in force, want 1", s.Version)
	}
	if applied := apply(t, store, etcd.Change{Document: document(t, 1)}); applied.Version != 2 || applied.Unchanged {
		t.Errorf("the mending apply gave version %d, want 2", applied.Version)
	}
	awaitVersion(t, f, 2)
}

func TestStoppedMemberIsFollowedAgainAfterItsRestart(t *testing.T) {
	server := startServer(t)
	store := server.store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)

	server.stop()
	ctx := bounded(t)
	if _, err := store.Get(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("Get without etcd: %v, want an error before the caller's own limit", err)
	}
	server.start()
	apply(t, store, etcd.Change{Document: document(t, 2)})

	awaitVersion(t, f, 2)
}
