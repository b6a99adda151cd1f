package federation

import "time"

// FrameType is the type byte of a frame.
type FrameType uint8

// Types of frames (design section 13, Wire). Types 12, 13 and 16 are reserved for LINKSTATE, TOPOLOGY_OFFER and CLOSE.
const (
	TypeHello     FrameType = 1
	TypeHelloAck  FrameType = 2
	TypeLaneOpen  FrameType = 3
	TypeLaneState FrameType = 4
	TypeCopy      FrameType = 5
	TypeAck       FrameType = 6
	TypeWindow    FrameType = 7
	TypeReceipt   FrameType = 8
	TypeSyncReq   FrameType = 9
	TypeSync      FrameType = 10
	TypeHeartbeat FrameType = 11
	TypeDrain     FrameType = 14
	TypeDrainDone FrameType = 15
)

// Frame is what stands in one frame. The types below are all of them.
type Frame interface{ Type() FrameType }

// Hello opens a connection; HelloAck answers it. No lanes: those follow in LaneOpen.
type Hello struct {
	MinVersion, MaxVersion uint16 // of the wire
	Federation             string
	Site                   SiteID
	Router                 string // name of the process, for people
	Store                  StoreID
	Born                   time.Time
	Epoch                  Epoch
	LastLSN                LSN
	Openings               []Opening // of the store before this one, oldest first, at most MaxOpenings
	Boot                   BootID
	TopologyVersion        uint64
	TopologyDigest         [32]byte
	Now                    time.Time // wall clock of the sender, whole milliseconds
	MaxBatch               uint32    // bytes of a batch that the sender takes
	Codecs                 uint32    // bit n: codec n
	LinkID                 uint64    // the same on all connections of a link
	Connection             uint8     // index of the connection in its link
	Capabilities           uint64    // reserved: zero in version 1; a bit that a reader does not know means nothing to it
	Extensions             []TLV
}

// HelloAck is the answer. The link is up only when its verdict is OK.
type HelloAck struct {
	Hello      Hello
	Verdict    Verdict
	Text       string // at most 255 bytes: Refusal
	Extensions []TLV
}

// LaneOpen announces a lane on a link.
type LaneOpen struct {
	Lane          Lane
	Mark          LaneMark
	FirstRetained Offset
	LastAssigned  Offset
	Extensions    []TLV
}

// LaneState answers LaneOpen: per destination at the receiver what it wants next and how much it may take.
type LaneState struct {
	Lane            Lane
	KnownGeneration Generation // 0: the lane is new here, or its journal is lost
	Destinations    []DestState
	Verdict         Verdict
	Text            string // at most 255 bytes: Refusal
	Extensions      []TLV
}

// DestState is one destination's line of LaneState.
type DestState struct {
	Destination Destination
	NextWanted  Offset
	Seal        Epoch  // in which the batch with NextWanted − 1 was sealed, as the journal remembers it; 0: not known
	Window      uint32 // bytes beyond NextWanted that are admissible
	Store       StoreID
	Born        time.Time
}

// Copy carries a batch. Numbers are per stream, from 1, dense.
type Copy struct {
	Number  uint64
	Sidecar Sidecar
	Batch   []byte
}

// Ack answers copies of one stream: all numbers up to Cumulative and those in Ranges are OK, but for the Exceptions.
type Ack struct {
	Stream     uint64
	Cumulative uint64
	Ranges     []NumberRange
	Exceptions []Exception
	Extensions []TLV
}

// NumberRange is a run of frame numbers, both ends included.
type NumberRange struct{ First, Last uint64 }

// Exception is the verdict on one frame that is not OK.
type Exception struct {
	Number  uint64
	Verdict Verdict
	Retry   time.Duration // how long the sender should wait; 0: its own choice
}

// Window moves the position window of a lane at one destination: Next is always admissible, and Bytes beyond it.
type Window struct {
	Lane        Lane
	Generation  Generation
	Destination Destination
	Next        Offset
	Bytes       uint32
	Extensions  []TLV
}

// SyncReq asks the other end for its durable word on a lane. From destination to origin it asks for a Sync; from origin
// to destination for a Receipt.
type SyncReq struct {
	Nonce       uint64
	Lane        Lane
	Generation  Generation // 0: not known
	Destination Destination
	Store       StoreID
	Born        time.Time
	ToOrigin    bool
	Extensions  []TLV
}

// Sync is the origin's answer (design 6.3). It tells durable facts alone.
type Sync struct {
	Nonce         uint64
	Lane          Lane
	Generation    Generation
	Destination   Destination
	Join          Offset
	FirstRetained Offset
	LastAssigned  Offset
	FirstStore    bool // the asking store is the first one that was answered
	HasReceipt    bool
	Receipt       Receipt
	Voids         []Void
	OriginStore   StoreID
	Verdict       Verdict // OK, Fenced (the asking store is older than the newest answered), NoGrant
	Text          string
	Extensions    []TLV
}

// Heartbeat is at least 64 bytes on the wire (a smaller packet draws no stateless reset).
type Heartbeat struct {
	Sent       time.Time // sender's wall clock
	Echo       time.Time // the latest Sent received; zero for none
	Backlog    uint64    // bytes waiting for this link
	Extensions []TLV
}

// Drain asks the peer to finish; DrainDone says that nothing is left.
type Drain struct {
	Reason     string // for people, at most 255 bytes
	Extensions []TLV
}

// DrainDone answers Drain.
type DrainDone struct{ Extensions []TLV }

func (Hello) Type() FrameType     { return TypeHello }
func (HelloAck) Type() FrameType  { return TypeHelloAck }
func (LaneOpen) Type() FrameType  { return TypeLaneOpen }
func (LaneState) Type() FrameType { return TypeLaneState }
func (Copy) Type() FrameType      { return TypeCopy }
func (Ack) Type() FrameType       { return TypeAck }
func (Window) Type() FrameType    { return TypeWindow }
func (Receipt) Type() FrameType   { return TypeReceipt }
func (SyncReq) Type() FrameType   { return TypeSyncReq }
func (Sync) Type() FrameType      { return TypeSync }
func (Heartbeat) Type() FrameType { return TypeHeartbeat }
func (Drain) Type() FrameType     { return TypeDrain }
func (DrainDone) Type() FrameType { return TypeDrainDone }
