//go:build integration

package etcd_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

const (
	current = "/cloudqueue/v1/cloudqueue/topology/current"
	first   = "/cloudqueue/v1/cloudqueue/topology/history/00000000000000000001"
)

func TestOfTwoAdminsOneWinsAndTheOtherIsTold(t *testing.T) {
	server := startServer(t)
	apply(t, server.store(), etcd.Change{Document: document(t, 1)})
	const admins = 8
	results := make(chan error, admins)
	var all sync.WaitGroup
	for range admins {
		store := server.store()
		all.Go(func() {
			_, err := store.Apply(bounded(t), etcd.Change{Document: document(t, 2), IfVersion: 1, Author: t.Name()})
			results <- err
		})
	}
	all.Wait()
	close(results)

	won := 0
	for err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, etcd.ErrConflict) {
			t.Errorf("an admin got %v, want %v", err, etcd.ErrConflict)
		}
	}
	if won != 1 {
		t.Errorf("%d admins won, want 1", won)
	}
	if history, err := server.store().History(bounded(t), 0); err != nil || len(history) != 2 {
		t.Errorf("history has %d versions, %v; want 2", len(history), err)
	}
}

func TestApplyRefusesWhatStrandsAndKeepsNumbers(t *testing.T) {
	store := startServer(t).store()
	apply(t, store, etcd.Change{Document: document(t, 2)})

	_, err := store.Apply(bounded(t), etcd.Change{Document: document(t, 1)})
	if !errors.Is(err, topology.ErrStrands) {
		t.Errorf("a route goes: %v, want %v", err, topology.ErrStrands)
	}
	shrunk := apply(t, store, etcd.Change{Document: document(t, 1), Accept: topology.Accept{Stranding: true}})

	if numbers := shrunk.Numbers["r1"]; len(numbers) != 1 || numbers[0].Target != 1 || numbers[0].Queue != "a1" {
		t.Errorf("numbers of the removed route: %+v, want its destination kept", numbers)
	}
	plan, version, err := store.Plan(bounded(t), document(t, 3))
	if err != nil || version != 2 || len(plan.Changes) != 2 {
		t.Errorf("plan of two more routes: %+v against version %d, %v", plan, version, err)
	}
}

func TestHistoryIsPrunedAndNeverWrittenTwice(t *testing.T) {
	server := startServer(t)
	store := server.store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	kept := apply(t, store, etcd.Change{Document: document(t, 2), AtLeast: 200})
	apply(t, store, etcd.Change{Document: document(t, 3)})

	history, err := store.History(bounded(t), 200)
	if err != nil || len(history) != 2 || history[1].Version != kept.Version {
		t.Errorf("history: %d versions, %v; want 201 and 200, version 1 pruned", len(history), err)
	}
	if _, err := server.client().Put(bounded(t), "/cloudqueue/v1/cloudqueue/topology/history/00000000000000000202", "taken"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Apply(bounded(t), etcd.Change{Document: document(t, 4)}); !errors.Is(err, etcd.ErrConflict) {
		t.Errorf("a version that is there already gave %v, want %v", err, etcd.ErrConflict)
	}
}

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
		case <-time.After(15 * time.Second):
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

func TestNumbersStayWhenCurrentIsDeletedAndTheOrderChanges(t *testing.T) {
	server := startServer(t)
	store := server.store()
	parse := func(to string) *topology.Document {
		d, err := topology.Parse("t", []byte("sites: {ams: {listen: [ams:1]}, nyc: {}}\nroutes:\n  r: {from: {site: ams, queue: q}, to: ["+to+"]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	apply(t, store, etcd.Change{Document: parse("{site: nyc, queue: a}, {site: nyc, queue: b}")})
	if _, err := server.client().Delete(bounded(t), current); err != nil {
		t.Fatal(err)
	}

	swapped := parse("{site: nyc, queue: b}, {site: nyc, queue: a}")
	plan, version, err := store.Plan(bounded(t), swapped)
	applied := apply(t, store, etcd.Change{Document: swapped})

	if err != nil || version != 1 || !plan.Empty() {
		t.Errorf("plan %+v against version %d, %v; want nothing to do against 1", plan, version, err)
	}
	got, err := applied.Open("t")
	if err != nil {
		t.Fatal(err)
	}
	if to := got.Routes()[0].Destinations; applied.Version != 2 || to[0].Queue != "b" || to[0].Target != 2 || to[1].Target != 1 {
		t.Errorf("version %d with destinations %+v, want version 2 with b as 2 and a as 1", applied.Version, to)
	}
	if _, err := store.Apply(bounded(t), etcd.Change{Document: parse("{site: nyc, queue: b}")}); !errors.Is(err, topology.ErrRefused) {
		t.Errorf("a destination goes: %v, want %v", err, topology.ErrRefused)
	}
}

func TestStoppedMemberIsFollowedAgainAfterItsRestart(t *testing.T) {
	server := startServer(t)
	store := server.store()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	f := follow(t, store, t.TempDir())
	awaitVersion(t, f, 1)

	server.stop()
	began := time.Now()
	_, err := store.Get(bounded(t))
	if took := time.Since(began); err == nil || took > 6*time.Second {
		t.Errorf("Get without etcd: %v after %v, want an error within 6 s", err, took)
	}
	server.start()
	apply(t, store, etcd.Change{Document: document(t, 2)})

	awaitVersion(t, f, 2)
}

func TestNoCallHangsOnAnEtcdThatNeverAnswers(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue for ever
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	store, err := etcd.New(etcd.Config{Endpoints: []string{listener.Addr().String()}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(context.Context) error{
		"Get":        func(ctx context.Context) error { _, err := store.Get(ctx); return err },
		"GetVersion": func(ctx context.Context) error { _, err := store.GetVersion(ctx, 1); return err },
		"History":    func(ctx context.Context) error { _, err := store.History(ctx, 0); return err },
		"Reports":    func(ctx context.Context) error { _, err := store.Reports(ctx); return err },
		"Report":     func(ctx context.Context) error { return store.Report(ctx, topology.Report{Site: "ams"}) },
		"Plan":       func(ctx context.Context) error { _, _, err := store.Plan(ctx, document(t, 1)); return err },
		"Apply": func(ctx context.Context) error {
			_, err := store.Apply(ctx, etcd.Change{Document: document(t, 1)})
			return err
		},
		"Read": func(ctx context.Context) error { _, err := store.Source().Read(ctx); return err },
		"Wait": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return store.Source().Wait(ctx)
		},
	}
	for name, call := range calls {
		began := time.Now()
		err := call(context.Background())
		if took := time.Since(began); err == nil || took > 3*time.Second {
			t.Errorf("%s gave %v after %v, want an error within its limit of 1 s", name, err, took)
		}
	}
	began := time.Now()
	_ = store.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
}

func TestReportVanishesWithItsRouter(t *testing.T) {
	server := startServer(t)
	store := server.store()
	want := topology.Report{Site: "ams", Router: "r1", Version: 3, Digest: "ab", Origin: topology.OriginEtcd, Since: time.UnixMilli(5).UTC()}
	for range 3 {
		if err := store.Report(bounded(t), want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Reports(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]topology.Report{want}, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}

	leases, err := server.client().Leases(bounded(t))
	if err != nil || len(leases.Leases) != 1 {
		t.Fatalf("leases %+v, %v; want one", leases, err)
	}
	if _, err := server.client().Revoke(bounded(t), leases.Leases[0].ID); err != nil { // what 15 s of silence do
		t.Fatal(err)
	}
	if got, err = store.Reports(bounded(t)); err != nil || len(got) != 0 {
		t.Errorf("reports after the lease ended: %+v, %v; want none", got, err)
	}
	if err := store.Report(bounded(t), want); err != nil {
		t.Fatal(err)
	}
	if got, err = store.Reports(bounded(t)); err != nil || len(got) != 1 {
		t.Errorf("reports after the next one: %+v, %v; want it back", got, err)
	}
}
