//go:build integration

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"cloudqueue/sim/parts"
	"cloudqueue/topology/etcd"
)

// member is one of a cluster; its stop may be called again.
type member struct {
	*embed.Etcd
	stop func()
}

// startCluster starts three members that talk to each other.
func startCluster(t *testing.T) []member {
	t.Helper()
	configs := make([]*embed.Config, 3)
	cluster := ""
	for i := range configs {
		cfg := embed.NewConfig()
		cfg.Name, cfg.Dir, cfg.UnsafeNoFsync = fmt.Sprintf("m%d", i), t.TempDir(), true
		cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
		peer := url.URL{Scheme: "http", Host: freeAddress(t)}
		client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
		cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
		cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
		cfg.TickMs, cfg.ElectionMs = 50, 500
		cluster += fmt.Sprintf(",%s=%s", cfg.Name, peer.String())
		configs[i] = cfg
	}
	members := make([]member, len(configs))
	for i, cfg := range configs {
		cfg.InitialCluster = cluster[1:]
		started, err := embed.StartEtcd(cfg)
		if err != nil {
			t.Fatal(err)
		}
		members[i] = member{started, sync.OnceFunc(started.Close)}
		t.Cleanup(members[i].stop)
	}
	for _, m := range members {
		select {
		case <-m.Server.ReadyNotify():
		case <-time.After(time.Minute):
			t.Fatal("a member is not ready")
		}
	}
	return members
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := parts.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

func TestWatchEndsWhenItsMemberLosesTheQuorum(t *testing.T) {
	members := startCluster(t)
	store, err := etcd.New(etcd.Config{Endpoints: []string{members[0].Clients[0].Addr().String()}, Check: time.Hour}) // the watch alone
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	apply(t, store, etcd.Change{Document: document(t, 1)})
	source := store.Source()
	if _, err := source.Read(bounded(t)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	ctx := bounded(t)
	go func() { ended <- source.Wait(ctx) }()

	began := time.Now()
	members[1].stop()
	members[2].stop()
	err = <-ended

	t.Logf("the watch ended %v after two of three members: %v", time.Since(began), err)
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait gave %v, want an error soon", err)
	}
	if _, err := source.Read(bounded(t)); err == nil {
		t.Error("a read without quorum succeeded")
	}
}
