package topology

// Snapshot is a document as a source delivered it.
type Snapshot struct {
	Version  uint64 // grows with every apply; of a plain file: 0
	Digest   [32]byte
	Document *Document
	Origin   string // OriginEtcd, OriginFile or OriginLastGood
}

// Where a Snapshot came from.
const (
	OriginEtcd     = "etcd"
	OriginFile     = "file"
	OriginLastGood = "last-good"
)
