//go:build integration

package etcd_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
)

// Keys as an admin sees them.
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
		ctx := bounded(t)
		if err := call(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%s gave %v, want an error by its own limit, long before the caller's", name, err)
		}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = store.Close()
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("Close hangs")
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
