package admin

import (
	"time"

	"cloudqueue/federation"
)

// OutLane is a lane of this origin in one generation. Its condition is that of taking messages from the broker.
type OutLane struct {
	Condition
	Lane             string                `json:"lane"` // as federation.Lane writes it: ams/orders
	Generation       federation.Generation `json:"generation"`
	Route            string                `json:"route"` // the route's present name; empty when it was removed
	Class            string                `json:"class,omitempty"`
	Source           string                `json:"source,omitempty"` // "queue telemetry", "exchange orders (cq.out.orders)"
	LastAssigned     federation.Offset     `json:"last_assigned"`
	FirstStored      federation.Offset     `json:"first_stored"` // oldest offset still stored; 0: none
	StoredMessages   uint64                `json:"stored_messages"`
	StoredBytes      uint64                `json:"stored_bytes"`
	IngestDuplicates uint64                `json:"ingest_duplicates"` // sealed with the duplicate flag
	InPerSecond      float64               `json:"in_per_second"`     // over the last 10 s or so
	LastIn           time.Time             `json:"last_in,omitzero"`
	Voided           uint64                `json:"voided"` // offsets given up by an audited word, for some destination or all
	Destinations     []OutDestination      `json:"destinations"`
}

// OutDestination is how far one destination of a lane is, as its origin knows it. Its condition is that of sending.
type OutDestination struct {
	Condition
	Destination     string            `json:"destination"`        // nyc, nyc:2
	NextHop         string            `json:"next_hop,omitempty"` // the peer that copies go to now
	Join            federation.Offset `json:"join"`
	Leave           federation.Offset `json:"leave,omitempty"` // 0: a member
	Sent            federation.Offset `json:"sent"`            // all up to it went out at least once
	Receipted       federation.Offset `json:"receipted"`       // the destination is done up to it
	Counters                          // from its last receipt
	BacklogMessages uint64            `json:"backlog_messages"` // last assigned (or leave) - receipted
	BacklogBytes    uint64            `json:"backlog_bytes"`
	LagSeconds      float64           `json:"lag_seconds"` // age of the oldest message that is not receipted; 0 without a backlog
	OutPerSecond    float64           `json:"out_per_second"`
	DrainSeconds    float64           `json:"drain_seconds"` // until the backlog is gone at the present rates; -1: it does not shrink
	LastReceipt     time.Time         `json:"last_receipt,omitzero"`
	Repairs         uint64            `json:"repairs"`         // rewinds after a SYNC
	Store           string            `json:"store,omitempty"` // the destination's newest store
}

// InLane is a lane that ends here, in one generation, for one destination of this site. Its condition is that of
// publishing.
type InLane struct {
	Condition
	Lane           string                `json:"lane"`
	Generation     federation.Generation `json:"generation"`
	Destination    string                `json:"destination"`
	From           string                `json:"from,omitempty"` // the peer whose copies come
	Join           federation.Offset     `json:"join"`
	Done           federation.Offset     `json:"done"`
	Reserved       federation.Offset     `json:"reserved"`
	Counters                             // from its journal
	Unconfirmed    uint64                `json:"unconfirmed"`     // published and not answered by the broker
	WindowMessages uint64                `json:"window_messages"` // received and not done
	WindowBytes    uint64                `json:"window_bytes"`
	NextWanted     federation.Offset     `json:"next_wanted"`
	LagSeconds     float64               `json:"lag_seconds"` // age of what was last published when it was
	OutPerSecond   float64               `json:"out_per_second"`
	LastPublished  time.Time             `json:"last_published,omitzero"`
	Duplicates     uint64                `json:"duplicates"` // copies dropped by their offset
}

// Counters count offsets by how they ended (federation.Counters).
type Counters struct {
	Delivered uint64 `json:"delivered"`
	Parked    uint64 `json:"parked"`
	Expired   uint64 `json:"expired"`
	Excluded  uint64 `json:"excluded"`
	Voided    uint64 `json:"voided"`
	Flagged   uint64 `json:"flagged"`   // part of delivered
	Uncertain uint64 `json:"uncertain"` // part of expired
}

// FromCounters takes over what a journal or a receipt counts.
func FromCounters(c federation.Counters) Counters { return Counters(c) }

func (c Counters) sum() uint64 { return federation.Counters(c).Sum() }
