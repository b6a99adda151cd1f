//go:build integration

package parts

import (
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestAnEtcdMemberKeepsItsKeysWhenKilled(t *testing.T) {
	binary, err := Build(t.Context(), t.TempDir(), EtcdCommand)
	if err != nil {
		t.Fatal(err)
	}
	member, err := NewEtcd(binary, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := member.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { member.Kill() }()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member.URL()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(t.Context(), "key", "kept"); err != nil {
		t.Fatal(err)
	}

	member.Kill()
	if err := member.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	got, err := client.Get(t.Context(), "key")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "kept" {
		t.Errorf("got %v, %v; want the key from before the kill", got, err)
	}
}
