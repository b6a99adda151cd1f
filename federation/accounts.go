package federation

import "time"

// Counters count offsets of one lane, generation and destination by how they ended (G14):
//
//	done - join + 1 = Delivered + Parked + Expired + Excluded + Voided
//
// Flagged counts the delivered ones that went out flagged; Uncertain the expired ones that may have appeared. Both are
// parts of other counters.
type Counters struct {
	Delivered, Parked, Expired, Excluded, Voided uint64
	Flagged, Uncertain                           uint64
}

// Sum is the number of offsets that ended.
func (c Counters) Sum() uint64 { return c.Delivered + c.Parked + c.Expired + c.Excluded + c.Voided }

// SealPoint records that batches of seal epoch Epoch begin at offset First.
type SealPoint struct {
	Epoch Epoch
	First Offset
}

// Journal is the destination's mark of a lane, generation and destination: all up to Done is finished, nothing above
// Reserved was ever published.
type Journal struct {
	Join     Offset
	Done     Offset
	Reserved Offset
	Counters Counters
	// OriginStore is the store that the origin had when the journal was last written.
	OriginStore StoreID
	// Seals are the last seal epochs of what is done or was published, oldest first, at most 4.
	Seals      []SealPoint
	Extensions []TLV // fields of later versions, kept and written again
}

// Balanced tells whether the books of the journal balance (G14).
func (j Journal) Balanced() bool { return uint64(j.Done+1-j.Join) == j.Counters.Sum() }

// Receipt is the destination's cumulative word. Receipts are idempotent; a greater Done of the same store replaces a smaller one.
type Receipt struct {
	Lane        Lane
	Generation  Generation
	Destination Destination
	Store       StoreID
	Born        time.Time // whole milliseconds
	Epoch       Epoch
	Join        Offset
	Done        Offset
	Counters    Counters
	Signature   []byte // empty on the destination's own connection (G10)
	Extensions  []TLV  // fields of later versions, kept and written again
}

// LaneMark is the origin's durable record of a lane (design section 13, LANE).
type LaneMark struct {
	Generation Generation
	// Previous is the generation before this one, 0 for none; Ends tells its last offset.
	Previous    Generation
	PreviousEnd Offset
	Shards      uint16
	Members     []Membership
	RouteDigest [32]byte
	Extensions  []TLV // fields of later versions, kept and written again
}

// Membership says from which offset a destination receives, and after which it left (0: it has not).
type Membership struct {
	Destination Destination
	Join, Leave Offset
}

// LaneHigh is the origin's mark of the last offset ever assigned, which outlives the batches.
type LaneHigh struct {
	LastAssigned     Offset
	IngestDuplicates uint64
	Extensions       []TLV // fields of later versions, kept and written again
}

// PeerMark is what a site remembers of a peer's store; written before HELLO_ACK.
type PeerMark struct {
	Store      StoreID
	Born       time.Time
	Epoch      Epoch
	LastLSN    LSN
	Boot       BootID
	Extensions []TLV // fields of later versions, kept and written again
}

// DestMark is what the origin remembers of a destination's stores, per lane and generation: the first one that it
// answered (written once, never changed) and the newest by birth.
type DestMark struct {
	First      StoreID
	Newest     StoreID
	NewestBorn time.Time
	Extensions []TLV // fields of later versions, kept and written again
}

// VoidMark lists spans that an audited word gave up.
type VoidMark struct {
	Voids      []Void // at most MaxVoids; who adds one checks
	Extensions []TLV  // fields of later versions, kept and written again
}

// Void is one such word.
type Void struct {
	Span         Span
	Destinations []Destination // empty: all
	Reason       string        // corrupt, detach, recovery
	Who          string
	At           time.Time
}

// OwnerMark is the highest index of an owner lock that this site ever used.
type OwnerMark struct {
	Highest    uint32
	Extensions []TLV // fields of later versions, kept and written again
}

// CursorMark is the next offset that the origin sends to a destination. It saves repeats after a restart; nothing depends on it.
type CursorMark struct {
	Next       Offset
	Extensions []TLV // fields of later versions, kept and written again
}
