package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd"
	"cloudqueue/topology/etcd/embedded"
)

// document writes a topology of ams and nyc with these routes.
func document(t *testing.T, routes ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "topology.yaml")
	src := "sites: {ams: {listen: [\"ams:1\"]}, nyc: {}}\nroutes:\n  " + strings.Join(routes, "\n  ") + "\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	ordersRoute = "orders: {from: {site: ams, queue: q}, to: [{site: nyc}]}"
	auditRoute  = "audit: {from: {site: nyc, queue: a}, to: [{site: ams}]}"
)

// startEtcd runs etcd in this process until the test ends.
func startEtcd(t *testing.T) (endpoint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	server, err := embedded.Start(ctx, t.TempDir(), embedded.Options{NoSync: true, Tick: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.Endpoint()
}

func TestTopologyIsAppliedPlannedAndShownInEtcd(t *testing.T) {
	endpoint := startEtcd(t)
	both, one := document(t, ordersRoute, auditRoute), document(t, ordersRoute)

	cloudqueue(t, "topology", "show", "--etcd", endpoint).want(t, exitNo, "no topology there", "cloudqueue topology apply")
	cloudqueue(t, "topology", "plan", both, "--etcd", endpoint).want(t, exitOK, "+ route nyc/audit")
	cloudqueue(t, "topology", "apply", both, "--etcd", endpoint, "-m", "first").want(t, exitOK, "version 1", "in force")
	var again appliedView
	if err := json.Unmarshal([]byte(cloudqueue(t, "topology", "apply", both, "--etcd", endpoint, "-o", "json").out), &again); err != nil || again.Plan.Version != 1 {
		t.Errorf("compared with version %d, want 1: %v", again.Plan.Version, err)
	}
	cloudqueue(t, "topology", "apply", both, "--etcd", endpoint).want(t, exitOK, "version 1", "was in force already")
	cloudqueue(t, "topology", "show", "--etcd", endpoint).want(t, exitOK, "version 1", "first", "ams/orders", "no report")
	if got, _ := os.ReadFile(both); cloudqueue(t, "topology", "show", "--source", "--etcd", endpoint).out != string(got) {
		t.Error("--source is not the text that was applied")
	}

	cloudqueue(t, "topology", "apply", one, "--etcd", endpoint).want(t, exitRefused, "- route nyc/audit", "strands: ", "compared with version 1, digest ", "--accept-stranding")
	cloudqueue(t, "topology", "apply", one, "--etcd", endpoint, "--if-version", "7", "--accept-stranding").want(t, exitRefused, "planned against version 7, in force is 1", "plan again")
	cloudqueue(t, "topology", "apply", one, "--etcd", endpoint, "--if-version", "1", "--accept-stranding").want(t, exitOK, "version 2")
	cloudqueue(t, "topology", "show", "--version", "1", "--source", "--etcd", endpoint).want(t, exitOK, "audit")
	cloudqueue(t, "topology", "show", "--version", "9", "--etcd", endpoint).want(t, exitNo, "version 9")
}

func TestTopologyApplyWaitsForTheRouters(t *testing.T) {
	endpoint := startEtcd(t)
	file := document(t, ordersRoute)
	cloudqueue(t, "topology", "apply", file, "--etcd", endpoint, "--wait", "--timeout", "1s").want(t, exitNo, "ams", "no report")

	store, err := etcd.New(etcd.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	stored, err := store.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running := topology.Report{Site: "ams", Version: stored.Version, Digest: fmt.Sprintf("%x", stored.Digest()), Origin: topology.OriginEtcd}
	if err := store.Report(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	other, err := etcd.New(etcd.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	running.Site = "nyc"
	if err := other.Report(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	cloudqueue(t, "topology", "apply", file, "--etcd", endpoint, "--wait", "--timeout", "10s").want(t, exitOK, "runs it")
}

func TestTopologyCommandsWithoutEtcdEndWithCode3(t *testing.T) {
	file := document(t, ordersRoute)
	for _, line := range [][]string{{"show"}, {"plan", file}, {"apply", file}} {
		args := append(append([]string{"topology"}, line...), "--etcd", "http://127.0.0.1:1", "--timeout", "300ms")
		cloudqueue(t, args...).want(t, exitUnreachable, "see that etcd runs")
	}
}
