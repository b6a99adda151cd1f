package federation

import "time"

// Codec tells how a batch's body is compressed.
type Codec uint8

// Codecs of a batch's body.
const (
	CodecNone Codec = 0
	CodecS2   Codec = 1
	CodecZstd Codec = 2
)

// BatchFlags let a relay decide without decoding.
type BatchFlags uint16

// Flags of a batch.
const (
	BatchFragments  BatchFlags = 1 << 0
	BatchTombstones BatchFlags = 1 << 1
	BatchDuplicates BatchFlags = 1 << 2
	BatchReplay     BatchFlags = 1 << 3
)

// Header is the immutable header of a sealed batch. Seal fills Codec, Flags, Count, RawLength, BodyLength and Digest.
type Header struct {
	Codec        Codec
	Flags        BatchFlags
	Count        uint32
	Generation   Generation
	First        Offset
	SealEpoch    Epoch
	SealedAt     time.Time // origin's wall clock, whole milliseconds
	RawLength    uint32
	BodyLength   uint32
	Digest       [32]byte
	Lane         Lane
	Destinations []Destination
	Extensions   []TLV
}

// Last is the last offset of the batch.
func (h *Header) Last() Offset { return h.First + Offset(h.Count) - 1 }

// Span is the batch's offsets.
func (h *Header) Span() Span { return Span{h.First, h.Last()} }

// Name names the batch for ever.
func (h *Header) Name() BatchName { return BatchName{h.Lane, h.Generation, h.First} }

// Batch is a sealed batch: its header, and its bytes as they are stored and sent.
type Batch struct {
	Header Header
	bytes  []byte
}

// Bytes are the batch as stored and sent. The caller must not change them.
func (b *Batch) Bytes() []byte { return b.bytes }

// Seal makes a batch of entries: h gives Lane, Generation, First, SealEpoch, SealedAt, Destinations and Extensions. The
// preferred codec is tried; CodecNone is used when it does not make the body smaller. Errors: too many entries, a raw
// body or a header over its limit.
func Seal(h Header, entries []Entry, preferred Codec, coder *Coder) (*Batch, error) {
	panic("to be written")
}

// ParseBatch checks a batch's header and both CRCs, decodes nothing, and keeps b. Errors wrap ErrCorrupt, ErrUnknownCritical or ErrVersion.
func ParseBatch(b []byte) (*Batch, error) { panic("to be written") }

// Open decodes the entries and checks the digest. It allocates at most RawLength for the body, never more than
// MaxRawBatch, whatever the compressed bytes claim. Entries share the decoded buffer. Errors wrap ErrCorrupt or ErrUnknownCritical.
func (b *Batch) Open(coder *Coder) ([]Entry, error) { panic("to be written") }
