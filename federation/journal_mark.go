package federation

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

// DoneSeal is the epoch in which the batch with Done was sealed; 0: not known, after a span that was passed, or with nothing done.
func (j Journal) DoneSeal() Epoch {
	for i := len(j.Seals) - 1; i >= 0; i-- {
		if j.Seals[i].First <= j.Done {
			return j.Seals[i].Epoch
		}
	}
	return 0
}

// Balanced tells whether the books of the journal balance (G14).
func (j Journal) Balanced() bool { return uint64(j.Done+1-j.Join) == j.Counters.Sum() }
