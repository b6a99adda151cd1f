package federation

import "time"

// Sidecar is what changes per hop beside an immutable batch.
type Sidecar struct {
	Repair     bool
	Hops       uint8
	Try        uint16 // for people and traces
	Age        time.Duration
	Bitmap     uint64 // destinations of this copy, over the sealed list
	Path       []SiteID
	StoredAt   time.Time // on disk: when the hop stored it; zero on the wire
	Extensions []TLV
}
