package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
)

// Source follows the document in force, for topology.Follower. One goroutine uses it.
type Source struct {
	store    *Store
	revision int64 // of the store at the last Read
	modified int64 // of the key at the last Read; 0: it was missing
}

// Source gives a new one.
func (s *Store) Source() *Source { return &Source{store: s} }

// Name gives "etcd " and the endpoints.
func (s *Source) Name() string { return s.store.name }

// Origin is topology.OriginEtcd.
func (s *Source) Origin() topology.Origin { return topology.OriginEtcd }

// Read gives the document in force. Its errors are those of Store.Get.
func (s *Source) Read(ctx context.Context) (topology.Stored, error) {
	read, err := s.store.get(ctx)
	if read.revision != 0 {
		s.revision, s.modified = read.revision, read.modified
	}
	return read.stored, err
}

// Wait watches from the revision of the last Read on, so nothing between the two is missed. It ends with an error when
// the member loses its quorum (WithRequireLeader; a watch without it stays silent for ever, docs/decisions.md M9), and
// when the revision is compacted: then only a new Read can tell what happened. A watch is silent at an etcd that is
// away, and at one that was wiped, whose revisions begin again below ours; so every Config.Check the key is asked for
// besides.
func (s *Source) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := s.store.client.Watch(clientv3.WithRequireLeader(ctx), s.store.current(), clientv3.WithRev(s.revision+1),
		clientv3.WithProgressNotify())
	check := time.NewTicker(s.store.check)
	defer check.Stop()
	for { // an event and a tick that are ready together both end in a Read
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answer, open := <-events:
			if changed, err := judge(ctx, answer, open); changed || err != nil {
				return err
			}
		case <-check.C:
			if changed, err := s.changed(ctx); changed || err != nil {
				return err
			}
		}
	}
}

// judge tells what an answer of a watch means.
func judge(ctx context.Context, answer clientv3.WatchResponse, open bool) (changed bool, err error) {
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case !open:
		return false, errors.New("watch the topology: the watch ended")
	case answer.Err() != nil:
		return false, fmt.Errorf("watch the topology: %w", answer.Err())
	}
	return len(answer.Events) > 0, nil
}

// changed asks for the revision of the key without its value.
func (s *Source) changed(ctx context.Context) (bool, error) {
	limited, cancel := s.store.limited(ctx)
	defer cancel()
	answer, err := s.store.client.Get(limited, s.store.current(), clientv3.WithKeysOnly())
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		return false, fmt.Errorf("check the topology at %s: %w", s.store.name, err)
	}
	var modified int64
	if len(answer.Kvs) > 0 {
		modified = answer.Kvs[0].ModRevision
	}
	return modified != s.modified || answer.Header.Revision < s.revision, nil
}
