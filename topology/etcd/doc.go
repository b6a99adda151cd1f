// Package etcd keeps topologies in etcd and is the only importer of its client.
//
//	/cloudqueue/v1/<federation>/topology/current                    the document in force
//	/cloudqueue/v1/<federation>/topology/history/<version, 20 digits> every version, never written twice, the last 200 kept
//	/cloudqueue/v1/<federation>/site/<site>/router                   what a router runs, under a lease of 15 s
//
// A document is applied by one transaction, which compares the revision of `current` and writes `current` and its
// history entry; so of two admins one wins and the other is told (ErrConflict). Versions are counters inside the
// values, not etcd's revisions, which do not survive a restored backup.
//
// etcd is never on the data path. Every call has a deadline (Config.Timeout), because the client waits for ever for a
// member that is away (docs/decisions.md M9). A missing key never means that something was deleted.
//
// Start reading at Store. Source is its side for topology.Follower.
package etcd
