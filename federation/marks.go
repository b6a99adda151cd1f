package federation

// MarkKind tells what a mark's value is.
type MarkKind uint8

// Kinds of marks, with the parts of MarkKey that each uses.
const (
	MarkJournal  MarkKind = 1 // Lane, Generation, Dest → Journal
	MarkReceipt  MarkKind = 2 // Lane, Generation, Dest → Receipt
	MarkLane     MarkKind = 3 // Lane → LaneMark
	MarkLaneHigh MarkKind = 4 // Lane, Generation → LaneHigh
	MarkPeer     MarkKind = 5 // Dest.Site → PeerMark
	MarkDest     MarkKind = 6 // Lane, Generation, Dest → DestMark
	MarkVoid     MarkKind = 7 // Lane, Generation → VoidMark
	MarkOwner    MarkKind = 8 // nothing → OwnerMark
	MarkCursor   MarkKind = 9 // Lane, Generation, Dest → offset
)

// MarkKey names a mark. It is comparable; parts that its kind does not use are zero.
type MarkKey struct {
	Kind       MarkKind
	Lane       Lane
	Generation Generation
	Dest       Destination
}

// AppendMarkKey appends a key's bytes.
func AppendMarkKey(dst []byte, k MarkKey) []byte { panic("to be written") }

// ParseMarkKey reads a key and returns what follows it.
func ParseMarkKey(b []byte) (MarkKey, []byte, error) { panic("to be written") }

// The values of marks encode themselves and are parsed by the function beside them. Errors wrap ErrCorrupt, ErrVersion or ErrUnknownCritical.

func (j Journal) Encode() []byte                 { panic("to be written") }
func ParseJournal(b []byte) (Journal, error)     { panic("to be written") }
func (r Receipt) Encode() []byte                 { panic("to be written") } // the same bytes as the RECEIPT frame's payload
func ParseReceipt(b []byte) (Receipt, error)     { panic("to be written") }
func (m LaneMark) Encode() []byte                { panic("to be written") }
func ParseLaneMark(b []byte) (LaneMark, error)   { panic("to be written") }
func (m LaneHigh) Encode() []byte                { panic("to be written") }
func ParseLaneHigh(b []byte) (LaneHigh, error)   { panic("to be written") }
func (m PeerMark) Encode() []byte                { panic("to be written") }
func ParsePeerMark(b []byte) (PeerMark, error)   { panic("to be written") }
func (m DestMark) Encode() []byte                { panic("to be written") }
func ParseDestMark(b []byte) (DestMark, error)   { panic("to be written") }
func (m VoidMark) Encode() []byte                { panic("to be written") }
func ParseVoidMark(b []byte) (VoidMark, error)   { panic("to be written") }
func (m OwnerMark) Encode() []byte               { panic("to be written") }
func ParseOwnerMark(b []byte) (OwnerMark, error) { panic("to be written") }
