package federation

import "time"

// The marks of an origin, those that every site keeps of its peers and of its owner locks; marks_origin_format.go has
// their bytes.

// LaneMark is the origin's durable record of a lane (design section 13, LANE).
type LaneMark struct {
	Generation Generation
	// Previous is the generation before this one, 0 for none; Ends tells its last offset.
	Previous    Generation
	PreviousEnd Offset
	Shards      uint16
	Members     []Membership
	RouteDigest [32]byte // reserved: zero in version 1, kept and written again as it is
	Extensions  []TLV    // fields of later versions, kept and written again
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
	Reason       string        // of VoidReasons
	Who          string
	At           time.Time
}

// Reasons of a void.
const (
	VoidCorrupt  = "corrupt"  // the store cannot read it any more
	VoidDetach   = "detach"   // the destination is to get it no more
	VoidRecovery = "recovery" // a reseal numbered it again
)

// VoidReasons are the reasons that an admin may give.
func VoidReasons() []string { return []string{VoidCorrupt, VoidDetach, VoidRecovery} }

// OwnerMark is the highest index of an owner lock that this site ever used.
type OwnerMark struct {
	Highest    uint32
	Extensions []TLV // fields of later versions, kept and written again
}
