package embedded_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"cloudqueue/topology/etcd/embedded"
)

func TestMemberKeepsItsDataAndItsAddressOverARestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dir := t.TempDir()
	first, err := embedded.Start(ctx, dir, embedded.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	endpoint := first.Endpoint()
	put(ctx, t, endpoint, "a", "1")
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}

	second, err := embedded.Start(ctx, dir, embedded.Options{NoSync: true, Listen: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	got := get(ctx, t, endpoint, "a")

	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if second.Endpoint() != endpoint || got != "1" {
		t.Errorf("after the restart: endpoint %s, a = %q; want %s, 1", second.Endpoint(), got, endpoint)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	s, err := embedded.Start(ctx, t.TempDir(), embedded.Options{NoSync: true})

	if err == nil { // it may have been ready already
		err = errors.Join(s.Close(), context.Canceled)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start gave %v, want %v", err, context.Canceled)
	}
}

func client(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func put(ctx context.Context, t *testing.T, endpoint, key, value string) {
	t.Helper()
	if _, err := client(t, endpoint).Put(ctx, key, value); err != nil {
		t.Fatal(err)
	}
}

func get(ctx context.Context, t *testing.T, endpoint, key string) string {
	t.Helper()
	answer, err := client(t, endpoint).Get(ctx, key)
	if err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("get %s: %v, %v", key, answer, err)
	}
	return string(answer.Kvs[0].Value)
}
