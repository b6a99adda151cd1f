package topology

import "cloudqueue/federation"

// Snapshot is a document that a router shall run.
type Snapshot struct {
	Version  uint64 // of the source, grows with every apply; 0: from a plain file
	Digest   [32]byte
	Document *Document
	Origin   string // OriginEtcd, OriginFile or OriginLastGood
	// Gone are routes of the router's site that were in force once and are not in Document, oldest first: their lanes still drain.
	Gone []Route
	// Left are what the router's own queues may still be bound by though Document does not name it, oldest first: a queue, an exchange and keys each.
	Left []federation.Source
}

// Where a Snapshot came from.
const (
	OriginEtcd     = "etcd"
	OriginFile     = "file"
	OriginLastGood = "last-good"
)
