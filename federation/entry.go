package federation

import "time"

// EntryKind tells what an offset holds.
type EntryKind uint8

// Kinds of entries.
const (
	EntryMessage   EntryKind = 0
	EntryFragment  EntryKind = 1
	EntryTombstone EntryKind = 2
)

// EntryFlags are facts about one entry, sealed by the origin.
type EntryFlags uint8

// Flags of an entry.
const (
	EntryDuplicate    EntryFlags = 1 << 0 // the broker may have handed it to the origin before (ingest window of G3)
	EntryLastFragment EntryFlags = 1 << 1
	EntryRedriven     EntryFlags = 1 << 2
	EntryTransient    EntryFlags = 1 << 3 // delivery-mode 1
)

// Entry is what one offset of a lane holds.
type Entry struct {
	Kind  EntryKind
	Flags EntryFlags
	// Age is the time between ingest and sealing, in whole milliseconds.
	Age time.Duration
	// TTL is what remained of the message's lifetime when it was sealed; NoTTL without one. A TTL of 0 has expired.
	TTL     time.Duration
	Message Message
	// Path lists the sites that a re-entered message has already visited, oldest first.
	Path []SiteID
	// Excluded is a bitmap over the batch's destinations: those that are in Path (the loop rule).
	Excluded uint64
	// Reason says why a tombstone stands here; empty otherwise.
	Reason string
	// Fragment tells the place of an EntryFragment in its message; nil for other kinds.
	Fragment   *Fragment
	Extensions []TLV
}

// Fragment is the place of a fragment in a message that is larger than a batch takes.
type Fragment struct {
	First  Offset   // offset of the message's first fragment
	Index  uint32   // from 0
	Total  uint32   // fragments of the message
	Digest [32]byte // SHA-256 of the whole body
}

// NoTTL is the TTL of an entry that never expires.
const NoTTL time.Duration = -1

// TLV is an extension field: tag, and bytes that are kept and passed on as they are. A critical tag is odd (low bit 1):
// who does not know it holds or refuses what it stands in.
type TLV struct {
	Tag   uint64
	Value []byte
}

// Critical tells whether a reader that does not know the tag has to hold or refuse.
func (t TLV) Critical() bool { return t.Tag&1 == 1 }
