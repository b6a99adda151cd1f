package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"cloudqueue/topology"
)

// Source follows the document in force, for topology.Follower. One goroutine uses it.
type Source struct {
	store    *Store
	revision int64 // of the store at the last Read
}

// Source gives a new one.
func (s *Store) Source() *Source { return &Source{store: s} }

// Name gives "etcd " and the endpoints.
func (s *Source) Name() string { return s.store.name }

// Origin is topology.OriginEtcd.
func (s *Source) Origin() string { return topology.OriginEtcd }

// Read gives the document in force. Its errors are those of Store.Get.
func (s *Source) Read(ctx context.Context) (topology.Stored, error) {
	read, err := s.store.get(ctx)
	if read.revision != 0 {
		s.revision = read.revision
	}
	return read.stored, err
}

// Wait watches from the revision of the last Read on, so nothing between the two is missed. It ends with an error when
// the member loses its quorum (WithRequireLeader; a watch without it stays silent for ever, docs/decisions.md M9), and when
// the revision is compacted: then only a new Read can tell what happened.
func (s *Source) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := s.store.client.Watch(clientv3.WithRequireLeader(ctx), s.store.current(), clientv3.WithRev(s.revision+1), clientv3.WithProgressNotify())
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case answer, open := <-events:
			switch {
			case !open && ctx.Err() != nil:
				return ctx.Err()
			case !open:
				return errors.New("watch the topology: the watch ended")
			case answer.Err() != nil:
				return fmt.Errorf("watch the topology: %w", answer.Err())
			case len(answer.Events) > 0:
				return nil
			}
			s.revision = max(s.revision, answer.Header.Revision) // progress: a compaction below it does no harm
		}
	}
}
