package etcd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
)

// leaseSeconds is three topology.ReportIntervals: two may be lost.
const leaseSeconds = 15

// reportLease is the lease under which this process reports. The mutex is held over calls of etcd, all with a deadline:
// reports of one process come one after another anyway.
type reportLease struct {
	mu    sync.Mutex
	id    clientv3.LeaseID
	value []byte // what stands under it
}

// Report puts what a router runs under a lease, or keeps it alive. After an outage that the lease did not survive it is
// put again.
func (s *Store) Report(ctx context.Context, r topology.Report) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	if s.lease.id != 0 {
		_, err := s.client.KeepAliveOnce(ctx, s.lease.id)
		if err == nil && bytes.Equal(value, s.lease.value) {
			return nil
		}
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.lease.id = 0
		} else if err != nil {
			return fmt.Errorf("keep the report alive: %w", err)
		}
	}
	return s.putReport(ctx, s.prefix+"site/"+string(r.Site)+"/router", value)
}

func (s *Store) putReport(ctx context.Context, key string, value []byte) error {
	if s.lease.id == 0 {
		granted, err := s.client.Grant(ctx, leaseSeconds)
		if err != nil {
			return fmt.Errorf("lease for the report: %w", err)
		}
		s.lease.id = granted.ID
	}
	if _, err := s.client.Put(ctx, key, string(value), clientv3.WithLease(s.lease.id)); err != nil {
		return fmt.Errorf("put the report: %w", err)
	}
	s.lease.value = value
	return nil
}

// Reports gives what the routers run, by site. A router that is not among them is down, or cannot reach etcd: it goes
// on with its last good topology.
func (s *Store) Reports(ctx context.Context) ([]topology.Report, error) {
	limited, cancel := s.limited(ctx)
	defer cancel()
	answer, err := s.client.Get(limited, s.prefix+"site/", clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read the reports from %s: %w", s.name, err)
	}
	var all []topology.Report
	for _, kv := range answer.Kvs {
		var r topology.Report
		if json.Unmarshal(kv.Value, &r) == nil {
			all = append(all, r)
		}
	}
	return all, nil
}
