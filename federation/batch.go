package federation

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

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
	Header   Header
	bytes    []byte
	tlvStart int // where the header's extensions begin: they are not under the digest
}

// Bytes are the batch as stored and sent. The caller must not change them.
func (b *Batch) Bytes() []byte { return b.bytes }

// Seal makes a batch of entries: h gives Lane, Generation, First, SealEpoch, SealedAt, Destinations and Extensions. The
// preferred codec is tried; CodecNone is used when it does not make the body smaller. ErrTooLarge: too many entries, a
// raw body or a header over its limit; any other error: a value that no batch may have.
func Seal(h Header, entries []Entry, preferred Codec, coder *Coder) (*Batch, error) {
	b, err := seal(h, entries, preferred, coder)
	if err != nil {
		return nil, fmt.Errorf("seal %s with %d entries: %w", h.Name(), len(entries), err)
	}
	return b, nil
}

func seal(h Header, entries []Entry, preferred Codec, coder *Coder) (*Batch, error) {
	raw, flags, err := coder.appendEntries(entries)
	if err != nil {
		return nil, err
	}
	defer func() { coder.raw = kept(raw) }()
	body, codec, err := coder.compress(raw, preferred)
	if err != nil {
		return nil, err
	}
	h.Count, h.Flags, h.Codec = uint32(len(entries)), flags, codec
	h.Extensions = inOrder(h.Extensions)
	if h.Lane.Kind == KindReplay {
		h.Flags |= BatchReplay
	}
	h.RawLength, h.BodyLength = uint32(len(raw)), uint32(len(body))
	if h.First < 1 || h.Last() < h.First {
		return nil, fmt.Errorf("%d entries from offset %d", h.Count, h.First)
	}
	return assemble(h, raw, body)
}

// appendEntries encodes the entries into the scratch buffer, after it knows that they fit.
func (c *Coder) appendEntries(entries []Entry) ([]byte, BatchFlags, error) {
	if len(entries) < 1 || len(entries) > MaxEntries {
		return nil, 0, fmt.Errorf("%w: %d entries, want 1 to %d", ErrTooLarge, len(entries), MaxEntries)
	}
	size := 0
	for i := range entries {
		size += entries[i].EncodedSize()
	}
	if size > MaxRawBatch {
		return nil, 0, fmt.Errorf("%w: %d bytes before compression, limit %d", ErrTooLarge, size, MaxRawBatch)
	}
	w := writer{b: c.raw[:0]}
	for i := range entries {
		w.entry(&entries[i])
	}
	return w.b, flagsOf(entries), w.err
}

func flagsOf(entries []Entry) BatchFlags {
	var f BatchFlags
	for i := range entries {
		switch entries[i].Kind {
		case EntryFragment:
			f |= BatchFragments
		case EntryTombstone:
			f |= BatchTombstones
		}
		if entries[i].Flags&EntryDuplicate != 0 {
			f |= BatchDuplicates
		}
	}
	return f
}

// assemble puts header, checksums and body together in one allocation of the exact size.
func assemble(h Header, raw, body []byte) (*Batch, error) {
	size := headerFixed + variableSize(&h) + len(body)
	b, tlvStart, err := appendHeader(make([]byte, 0, size), &h)
	if err != nil {
		return nil, err
	}
	h.Digest = digestOf(b, tlvStart, raw)
	copy(b[offDigest:], h.Digest[:])
	putCRCs(b, body)
	// What a reader sees is what the writer has: times in whole milliseconds.
	h.SealedAt = fromMillis(toMillis(h.SealedAt))
	return &Batch{Header: h, bytes: append(b, body...), tlvStart: tlvStart}, nil
}

// putCRCs fills in both CRCs; the digest must be there.
func putCRCs(header, body []byte) {
	binary.LittleEndian.PutUint32(header[offBodyCRC:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(header[offHeaderCRC:], headerCRC(header))
}

func variableSize(h *Header) int {
	n := 2 + len(h.Lane.Origin) + len(h.Lane.Route) + 3 + 1 + tlvsSize(h.Extensions)
	for _, d := range h.Destinations {
		n += 2 + len(d.Site)
	}
	return n
}

// ParseBatch checks a batch's header and both CRCs, decodes nothing, and keeps b. Errors wrap ErrCorrupt,
// ErrUnknownCritical or ErrVersion.
func ParseBatch(b []byte) (*Batch, error) {
	header, _, err := splitBatch(b)
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	h, err := parseHeader(header)
	if err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	return &Batch{Header: h, bytes: b, tlvStart: len(header) - tlvsSize(h.Extensions)}, nil
}

// Open decodes the entries and checks the digest. It allocates at most RawLength for the body, never more than
// MaxRawBatch, whatever the compressed bytes claim. Entries share the decoded buffer; without compression, the batch's
// own bytes. Errors wrap ErrCorrupt, ErrUnknownCritical or ErrCodec.
func (b *Batch) Open(coder *Coder) ([]Entry, error) {
	entries, err := b.open(coder)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", b.Header.Name(), err)
	}
	return entries, nil
}

func (b *Batch) open(coder *Coder) ([]Entry, error) {
	h := &b.Header
	body := b.bytes[len(b.bytes)-int(h.BodyLength):]
	raw, err := coder.decompress(body, h.Codec, int(h.RawLength))
	if err != nil {
		return nil, err
	}
	if digestOf(b.bytes, b.tlvStart, raw) != h.Digest {
		return nil, fmt.Errorf("%w: digest", ErrCorrupt)
	}
	entries, err := parseEntries(raw, int(h.Count), coder)
	if err != nil {
		return nil, err
	}
	if want := flagsOf(entries); h.Flags&^BatchReplay != want {
		return nil, fmt.Errorf("%w: flags %#x, entries say %#x", ErrCorrupt, h.Flags, want)
	}
	return entries, nil
}

func parseEntries(raw []byte, count int, coder *Coder) ([]Entry, error) {
	r := reader{b: raw}
	entries := make([]Entry, count)
	for i := range entries {
		entries[i] = r.entry(coder.name)
		if r.err != nil {
			return nil, fmt.Errorf("entry %d of %d: %w", i+1, count, r.err)
		}
	}
	return entries, r.end("entries")
}
