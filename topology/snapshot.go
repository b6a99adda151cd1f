package topology

import "cloudqueue/federation"

// Snapshot is a document that a router shall run.
type Snapshot struct {
	Version  uint64 // of the source, grows with every apply; 0: from a plain file
	Digest   [32]byte
	Document *Document
	Origin   Origin // OriginEtcd, OriginFile or OriginLastGood
	// Gone are routes of the router's site that were in force once and are not in Document, oldest first: their lanes
	// still drain.
	Gone []Route
	// Left are what the router's own queues may still be bound by though Document does not name it, oldest first: a
	// queue, an exchange and keys each.
	Left []federation.Source
}

// Origin is where a Snapshot came from; "": nowhere yet. Its text stands in the last good copy and in reports.
type Origin string

// The origins. A Source is of one of the first two.
const (
	OriginEtcd     Origin = "etcd"
	OriginFile     Origin = "file"
	OriginLastGood Origin = "last-good"
)
