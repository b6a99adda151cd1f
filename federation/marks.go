package federation

import "fmt"

// MarkKind tells what a mark's value is.
type MarkKind uint8

// Kinds of marks, with the parts of MarkKey that each uses. Kind 9 is reserved for CURSOR, the next offset that the
// origin sends to a destination (Lane, Generation, Dest): as a kind of a later version it is kept.
const (
	MarkJournal  MarkKind = 1  // Lane, Generation, Dest → Journal
	MarkReceipt  MarkKind = 2  // Lane, Generation, Dest → Receipt
	MarkLane     MarkKind = 3  // Lane → LaneMark
	MarkLaneHigh MarkKind = 4  // Lane, Generation → LaneHigh
	MarkPeer     MarkKind = 5  // Dest.Site → PeerMark
	MarkDest     MarkKind = 6  // Lane, Generation, Dest → DestMark
	MarkVoid     MarkKind = 7  // Lane, Generation → VoidMark
	MarkOwner    MarkKind = 8  // nothing → OwnerMark
	MarkOpenings MarkKind = 10 // nothing → OpeningsMark
)

// MarkKey names a mark. It is comparable; parts that its kind does not use are zero.
type MarkKey struct {
	Kind       MarkKind
	Lane       Lane
	Generation Generation
	Dest       Destination
}

// A mark's key:
//
//	 ┌─────────┬──────────┬──────────┬────────────────┬─────────────┐
//	 │ kind u8 │ parts u8 │ [lane]   │ [generation 8] │ [site, tgt] │
//	 └─────────┴──────────┴──────────┴────────────────┴─────────────┘
//
//	field   valid                                             a reader does with a bad one
//	kind    any: a kind of a later version is kept as it is
//	parts   bit 0 lane, 1 generation, 2 destination follow    refuses: ErrCorrupt, also when a known kind has other parts than
//	                                                          MarkKind says, and when a part of an unknown kind is zero
//
// (docs/design.md section 13, Marks.)
const (
	partLane       = 1 << 0
	partGeneration = 1 << 1
	partDest       = 1 << 2
	partAll        = partLane | partGeneration | partDest
)

// partsOf gives the parts of a known kind.
func partsOf(k MarkKind) (parts uint8, known bool) {
	switch k {
	case MarkJournal, MarkReceipt, MarkDest:
		return partAll, true
	case MarkLaneHigh, MarkVoid:
		return partLane | partGeneration, true
	case MarkLane:
		return partLane, true
	case MarkPeer:
		return partDest, true
	case MarkOwner, MarkOpenings:
		return 0, true
	}
	return 0, false
}

// parts are those that are not zero.
func (k MarkKey) parts() (parts uint8) {
	if k.Lane != (Lane{}) {
		parts |= partLane
	}
	if k.Generation != 0 {
		parts |= partGeneration
	}
	if k.Dest != (Destination{}) {
		parts |= partDest
	}
	return parts
}

// AppendMarkKey appends a key's bytes. A key with parts that its kind does not use, or without those that it uses, is a
// bug and panics.
func AppendMarkKey(dst []byte, k MarkKey) []byte {
	parts, known := partsOf(k.Kind)
	if !known {
		parts = k.parts()
	}
	w := writer{b: dst}
	if k.parts()&^parts != 0 {
		w.fail("parts %#x, its kind uses %#x", k.parts(), parts)
	}
	w.u8(uint8(k.Kind))
	w.u8(parts)
	if parts&partLane != 0 {
		w.lane(k.Lane)
	}
	if parts&partGeneration != 0 {
		w.u64(uint64(k.Generation))
	}
	if parts&partDest != 0 {
		w.destination(k.Dest)
	}
	return w.must("mark key", k)
}

// ParseMarkKey reads a key and returns what follows it. Errors wrap ErrCorrupt or ErrUnknownCritical.
func ParseMarkKey(b []byte) (MarkKey, []byte, error) {
	r := reader{b: b}
	k := MarkKey{Kind: MarkKind(r.u8())}
	parts := r.u8()
	if parts&partLane != 0 {
		k.Lane = r.lane()
	}
	if parts&partGeneration != 0 {
		k.Generation = Generation(r.u64())
	}
	if parts&partDest != 0 {
		k.Dest = r.destination()
	}
	want, known := partsOf(k.Kind)
	if !known {
		want = k.parts()
	}
	r.refuse(parts != want, "parts %#x, want %#x", parts, want)
	if r.err != nil {
		return MarkKey{}, nil, fmt.Errorf("key of mark kind %d: %w", k.Kind, r.err)
	}
	return k, r.b, nil
}
