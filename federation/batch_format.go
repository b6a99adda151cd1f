package federation

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A batch: header, variable part, body.
//
//	      0      4     5     6      8     10     12       16          24      32      40       48      52
//	      ├──────┼─────┼─────┼──────┼──────┼──────┼────────┼───────────┼───────┼───────┼────────┼───────┼───────┐
//	      │ CQB1 │ ver │codec│flags │hlen  │ 0    │ count  │generation │ first │ epoch │ sealed │rawlen │bodylen│
//	      ├──────┴─────┴─────┴──────┴──────┴──────┴────────┴───────┬───┴───────┴───┬───┴────────┴──┬────┴───────┘
//	   56 │ digest (SHA-256)                                       │ 88 CRC of body│ 92 CRC of head│
//	      ├──────────────┬───────────────────────────┬─────────────┼───────────────┴───────────────┘
//	   96 │ lane         │ n u8, n × destination     │ TLVs …      │   up to hlen
//	      ├──────────────┴───────────────────────────┴─────────────┤
//	 hlen │ body: encoded entries, bodylen bytes                   │
//	      └────────────────────────────────────────────────────────┘
//
//	off  size  field              valid                          a reader does with a bad one
//	0    4     magic              "CQB1"                         refuses: ErrCorrupt
//	4    1     version            1                              refuses: ErrVersion
//	5    1     codec              0 none, 1 s2 (one block), 2 zstd (one frame, RFC 8878, with its content size)
//	                                                             unknown: passes on; Open refuses: ErrCodec
//	6    2     flags              BatchFlags, bits 0–3           refuses: ErrUnknownCritical; Open: ErrCorrupt when the entries say otherwise
//	8    2     header length      104–4096, with the variable part  refuses: ErrCorrupt
//	10   2     zero               0                              refuses: ErrCorrupt
//	12   4     entry count        1–4096; last = first + count − 1, without overflow
//	16   8     generation
//	24   8     first offset       ≥ 1
//	32   8     seal epoch         the origin's epoch when sealed
//	40   8     sealed at          ms, origin's wall clock
//	48   4     raw length         ≤ 16 MiB, ≥ 9 × count
//	52   4     body length        ≤ 16 MiB + 64 KiB; with codec none = raw length
//	56   32    SHA-256            over bytes 0–55, the variable part without its TLVs, the raw body; checked by Open
//	88   4     CRC32C             of the encoded body
//	92   4     CRC32C             of bytes 0–91 and the variable part with its TLVs
//	96   var   lane, destinations (n ≤ 48, none twice), TLVs (tlv.go)
//
// Length and CRCs are right or the batch is refused with ErrCorrupt; nothing is decoded for that, so that a relay
// checks what it passes on. Version 1 is the only one. (docs/design.md section 13, Batch header; CRC32C: RFC 3720
// appendix B.4.)
const (
	batchMagic    = "CQB1"
	batchVersion  = 1
	headerFixed   = 96
	digested      = 56 // bytes 0–55 are under the digest
	offDigest     = 56
	offBodyCRC    = 88
	offHeaderCRC  = 92
	minHeader     = headerFixed + 2 + 2 + 3 + 1 // the shortest lane and no destination
	knownBatch    = BatchFragments | BatchTombstones | BatchDuplicates | BatchReplay
	maxLaneBytes  = 1 + MaxName + 1 + MaxRoute + 3
	maxDestsBytes = 1 + MaxDestinations*(1+MaxName+1)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendHeader appends the header without digest and CRCs, and tells where its TLVs begin.
func appendHeader(dst []byte, h *Header) (b []byte, tlvStart int, err error) {
	start := len(dst)
	w := writer{b: append(dst, batchMagic...)}
	w.u8(batchVersion)
	w.u8(uint8(h.Codec))
	w.u16(uint16(h.Flags))
	w.u16(0) // header length, below
	w.u16(0)
	w.u32(h.Count)
	w.u64(uint64(h.Generation))
	w.u64(uint64(h.First))
	w.u64(uint64(h.SealEpoch))
	w.time(h.SealedAt)
	w.u32(h.RawLength)
	w.u32(h.BodyLength)
	w.bytes(h.Digest[:])
	w.zeros(8) // CRCs
	w.lane(h.Lane)
	w.destinations(h.Destinations)
	tlvStart = len(w.b) - start
	w.tlvs(h.Extensions)
	length := len(w.b) - start
	w.count(length, MaxBatchHeader, "bytes of a batch header")
	if w.err != nil {
		return dst, 0, w.err
	}
	binary.LittleEndian.PutUint16(w.b[start+8:], uint16(length))
	return w.b, tlvStart, nil
}

// digestOf is the SHA-256 over the fixed fields, lane and destinations, and the raw body.
func digestOf(header []byte, tlvStart int, raw []byte) (sum [32]byte) {
	h := sha256.New()
	h.Write(header[:digested])
	h.Write(header[headerFixed:tlvStart])
	h.Write(raw)
	h.Sum(sum[:0])
	return sum
}

func headerCRC(header []byte) uint32 {
	return crc32.Update(crc32.Checksum(header[:offHeaderCRC], castagnoli), castagnoli, header[headerFixed:])
}

// splitBatch checks lengths and CRCs and gives header and body.
func splitBatch(b []byte) (header, body []byte, err error) {
	r := reader{b: b}
	r.refuse(len(b) < minHeader, "%d bytes", len(b))
	r.refuse(string(r.take(4)) != batchMagic, "magic")
	r.version(batchVersion)
	if r.err != nil {
		return nil, nil, r.err
	}
	length := int(binary.LittleEndian.Uint16(b[8:]))
	r.refuse(length < minHeader || length > MaxBatchHeader || length > len(b), "header length %d", length)
	if r.err != nil {
		return nil, nil, r.err
	}
	header, body = b[:length], b[length:]
	r.refuse(headerCRC(header) != binary.LittleEndian.Uint32(b[offHeaderCRC:]), "CRC of the header")
	bodyLength := binary.LittleEndian.Uint32(b[52:])
	r.refuse(uint64(len(body)) != uint64(bodyLength) || bodyLength > MaxEncodedBatch, "%d bytes of body, header says %d", len(body), bodyLength)
	if r.err != nil {
		return nil, nil, r.err
	}
	r.refuse(crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[offBodyCRC:]), "CRC of the body")
	return header, body, r.err
}

// header takes a header whose length and CRC are right.
func (r *reader) header() Header {
	r.take(5) // magic and version
	h := Header{Codec: Codec(r.u8()), Flags: BatchFlags(r.u16())}
	if h.Flags&^knownBatch != 0 {
		r.fail(unknownCritical("batch flags", uint64(h.Flags)))
	}
	r.take(2) // header length
	r.zeros(2)
	h.Count = r.u32()
	h.Generation = Generation(r.u64())
	h.First = Offset(r.u64())
	h.SealEpoch = Epoch(r.u64())
	h.SealedAt = r.time()
	h.RawLength = r.u32()
	h.BodyLength = r.u32()
	copy(h.Digest[:], r.take(32))
	r.take(8) // CRCs
	h.Lane = r.lane()
	h.Destinations = r.destinations()
	h.Extensions = r.extensions()
	r.headerValid(&h)
	return h
}

func (r *reader) headerValid(h *Header) {
	r.refuse(h.Count < 1 || h.Count > MaxEntries, "%d entries", h.Count)
	r.refuse(h.First < 1 || h.Last() < h.First, "%d entries from offset %d", h.Count, h.First)
	r.refuse(h.RawLength > MaxRawBatch || h.RawLength < minEntry*h.Count, "raw length %d of %d entries", h.RawLength, h.Count)
	r.refuse(h.Codec == CodecNone && h.RawLength != h.BodyLength, "raw length %d, body length %d, not compressed", h.RawLength, h.BodyLength)
}

func parseHeader(header []byte) (Header, error) {
	r := reader{b: header}
	h := r.header()
	if r.err != nil {
		return Header{}, fmt.Errorf("header: %w", r.err)
	}
	return h, nil
}
