package federation

import "time"

// Receipt is the destination's cumulative word. Receipts are idempotent; a greater Done of the same store replaces a
// smaller one.
type Receipt struct {
	Lane        Lane
	Generation  Generation
	Destination Destination
	Store       StoreID
	Born        time.Time // whole milliseconds
	Epoch       Epoch
	Join        Offset
	Done        Offset
	// Seal is the epoch in which the batch with Done was sealed, as the journal remembers it; 0: not known.
	Seal       Epoch
	Counters   Counters
	Signature  []byte // empty on the destination's own connection (G10)
	Extensions []TLV  // fields of later versions, kept and written again
}
