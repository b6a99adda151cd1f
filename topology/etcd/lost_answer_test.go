//go:build integration

package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
	"cloudqueue/topology/etcd/embedded"
)

var errLost = errors.New("connection lost")

// lossyKV loses the answers of transactions: after they were carried out, or before.
type lossyKV struct {
	clientv3.KV
	carriedOut bool
	meanwhile  func() // what another admin does
}

func (kv lossyKV) Txn(ctx context.Context) clientv3.Txn { return lossyTxn{kv.KV.Txn(ctx), kv} }

type lossyTxn struct {
	clientv3.Txn
	kv lossyKV
}

func (t lossyTxn) If(cs ...clientv3.Cmp) clientv3.Txn   { return lossyTxn{t.Txn.If(cs...), t.kv} }
func (t lossyTxn) Then(ops ...clientv3.Op) clientv3.Txn { return lossyTxn{t.Txn.Then(ops...), t.kv} }

func (t lossyTxn) Commit() (*clientv3.TxnResponse, error) {
	if t.kv.carriedOut {
		if _, err := t.Txn.Commit(); err != nil {
			return nil, err
		}
	}
	t.kv.meanwhile()
	return nil, errLost
}

func TestApplyFindsOutWhatBecameOfATransactionWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		carriedOut, another bool
		want                error
	}{
		"it was carried out":           {carriedOut: true},
		"it was not":                   {want: ErrUnknown},
		"another admin's version came": {another: true, want: ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			store, other := storesOfOneMember(ctx, t)
			meanwhile := func() {
				if !c.another {
					return
				}
				if _, err := other.Apply(ctx, Change{Document: twoSites(t), Author: "other"}); err != nil {
					t.Error(err)
				}
			}
			store.client.KV = lossyKV{store.client.KV, c.carriedOut, meanwhile}

			_, err := store.Apply(ctx, Change{Document: twoSites(t), Author: "me"})

			if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
				t.Errorf("Apply gave %v, want %v", err, c.want)
			}
		})
	}
}

func storesOfOneMember(ctx context.Context, t *testing.T) (a, b *Store) {
	t.Helper()
	member, err := embedded.Start(ctx, t.TempDir(), embedded.Options{NoSync: true, Tick: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = member.Close() })
	stores := make([]*Store, 2)
	for i := range stores {
		if stores[i], err = New(Config{Endpoints: []string{member.Endpoint()}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stores[i].Close() })
	}
	return stores[0], stores[1]
}

func twoSites(t *testing.T) *topology.Document {
	t.Helper()
	d, err := topology.Parse("t", []byte("sites: {ams: {listen: [ams:1]}, nyc: {}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
