package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"cloudqueue/topology"
)

// Config says where etcd is.
type Config struct {
	Endpoints  []string // URLs or host:port; at least one, better all members
	Federation string   // "": topology.DefaultFederation
	// nil: no TLS. With a client certificate, etcd's --client-cert-auth gives roles by its common name
	TLS *tls.Config
	// Timeout bounds every call; 0: 5 s (measured: half a second is what a put takes at a follower 250 ms away, with no
	// loss). Negative: refused.
	Timeout time.Duration
	// Check is how often a Source that watches asks for the key's revision besides; 0: 30 s. An etcd that is away or
	// was wiped is told within this time and Timeout (a watch says nothing of either).
	Check time.Duration
}

// Store keeps the topologies of one federation. Methods may be called from any goroutine. Without an answer of etcd
// they end with an error: within Config.Timeout, Plan and Apply, which ask more than once, within four times of it.
type Store struct {
	client  *clientv3.Client
	prefix  string
	name    string
	timeout time.Duration
	check   time.Duration
	lease   reportLease
}

const (
	defaultTimeout = 5 * time.Second
	defaultCheck   = 30 * time.Second // chosen: a thousand routers ask 33 times a second
	// longestRedial is below the timeout of a call, so that a call finds a member that came back. (gRPC's own limit is
	// 120 s: after an outage of 5 s a call of 5 s failed, TestStoppedMember….)
	longestRedial = 2 * time.Second
	keepHistory   = 200 // versions (chosen: a year of an edit each working day)
)

// New makes a store. It succeeds without etcd; the first call tells.
func New(cfg Config) (*Store, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("the endpoints of etcd are missing")
	}
	if cfg.Timeout < 0 || cfg.Check < 0 {
		return nil, fmt.Errorf("timeout %v, check %v: calls of etcd need a limit", cfg.Timeout, cfg.Check)
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: slices.Clone(cfg.Endpoints), TLS: cfg.TLS, Logger: zap.NewNop(),
		// a dead peer is found in 13 s
		DialTimeout: defaultTimeout, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(redial())},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd client for %s: %w", strings.Join(cfg.Endpoints, ", "), err)
	}
	return &Store{client: client, prefix: "/cloudqueue/v1/" + cmp.Or(cfg.Federation, topology.DefaultFederation) + "/",
		name: "etcd " + strings.Join(cfg.Endpoints, ","), timeout: cmp.Or(cfg.Timeout, defaultTimeout),
		check: cmp.Or(cfg.Check, defaultCheck)}, nil
}

func redial() grpc.ConnectParams {
	return grpc.ConnectParams{MinConnectTimeout: defaultTimeout,
		Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
			MaxDelay: longestRedial}}
}

// Close ends the client; calls in flight end with an error.
func (s *Store) Close() error { return s.client.Close() }

func (s *Store) current() string { return s.prefix + "topology/current" }

func (s *Store) history(version uint64) string {
	return fmt.Sprintf("%stopology/history/%020d", s.prefix, version)
}

func (s *Store) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout)
}

// Get gives the document in force. topology.ErrMissing: there is none. ErrFormat, ErrDamaged: it cannot be read.
func (s *Store) Get(ctx context.Context) (topology.Stored, error) {
	read, err := s.get(ctx)
	return read.stored, err
}

// revised is the value of current with what a transaction compares and what a watch begins after.
type revised struct {
	stored   topology.Stored
	modified int64 // revision of the key's last change; 0: there is no key
	revision int64 // of the whole store when it was read
	lost     bool  // the key is missing or damaged, stored is the newest of the history
}

func (s *Store) get(ctx context.Context) (revised, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	answer, err := s.client.Get(limited, s.current())
	if err != nil {
		return revised{}, fmt.Errorf("read the topology from %s: %w", s.name, err)
	}
	read := revised{revision: answer.Header.Revision}
	if len(answer.Kvs) == 0 {
		return read, topology.ErrMissing
	}
	read.modified = answer.Kvs[0].ModRevision
	read.stored, err = decode(answer.Kvs[0].Value)
	return read, err
}

// GetVersion gives a version of the history. topology.ErrMissing: it was never applied, or is not kept any more.
func (s *Store) GetVersion(ctx context.Context, version uint64) (topology.Stored, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	answer, err := s.client.Get(limited, s.history(version))
	if err != nil {
		return topology.Stored{}, fmt.Errorf("read version %d from %s: %w", version, s.name, err)
	}
	if len(answer.Kvs) == 0 {
		return topology.Stored{}, fmt.Errorf("version %d: %w", version, topology.ErrMissing)
	}
	return decode(answer.Kvs[0].Value)
}

// History gives up to limit versions, the newest first; 0: 20. Values that cannot be read are left out.
func (s *Store) History(ctx context.Context, limit int) ([]topology.Stored, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	answer, err := s.client.Get(limited, s.prefix+"topology/history/", clientv3.WithPrefix(),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend),
		clientv3.WithLimit(int64(min(cmp.Or(limit, 20), keepHistory))))
	if err != nil {
		return nil, fmt.Errorf("read the history from %s: %w", s.name, err)
	}
	var all []topology.Stored
	for _, kv := range answer.Kvs {
		if stored, err := decode(kv.Value); err == nil {
			all = append(all, stored)
		}
	}
	return all, nil
}
