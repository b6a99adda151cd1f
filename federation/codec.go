package federation

import (
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// zstdLevel is chosen by BenchmarkSeal1KiBx64Zstd. Sealing batches of 64 cloud events of 1 KiB (sim/load), 2 cores of
// an AMD EPYC:
//
//	fastest   2.7 µs and 268 bytes a message        of 512: 3.5 µs, 253 bytes
//	default   3.4 µs and 261 bytes                          5.3 µs, 248 bytes
//	better    4.0 µs and 253 bytes                          5.5 µs, 234 bytes
//
// Why not default: 2.6 % fewer bytes cost 29 % more CPU, and sealing is the largest part of what a router computes.
const zstdLevel = zstd.SpeedFastest

// maxKept is the largest buffer that a Coder keeps between calls. Most batches are far smaller; a coder that met one of
// 16 MiB must not hold on to 32.
const maxKept = 1 << 20

// maxNames bounds the strings that a Coder shares between the entries it opens.
const maxNames = 1024

// Coder compresses and decompresses bodies. It starts no goroutine. One goroutine at a time may use it. What it
// returns is the caller's own; its buffers are only for what is thrown away.
type Coder struct {
	compressor   *zstd.Encoder
	decompressor *zstd.Decoder
	raw, body    []byte            // scratch of Seal
	names        map[string]string // exchanges and routing keys seen by Open: most entries repeat them
}

// NewCoder makes the coders of all codecs, each with concurrency 1.
func NewCoder() (*Coder, error) { return newCoder(zstdLevel) }

func newCoder(level zstd.EncoderLevel) (*Coder, error) {
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false),   // the batch has a CRC32C and a SHA-256 of its own
		zstd.WithSingleSegment(true)) // so that a frame always tells its content size
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	// Only DecodeAll obeys these limits, the streaming reader does not (docs/decisions.md, M7).
	decompressor, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(MaxRawBatch), zstd.WithDecoderMaxWindow(MaxRawBatch))
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return &Coder{compressor: compressor, decompressor: decompressor, names: make(map[string]string)}, nil
}

// compress gives raw's encoding, or raw itself with CodecNone where that is not smaller. The result is good until the
// next call.
func (c *Coder) compress(raw []byte, preferred Codec) ([]byte, Codec, error) {
	var body []byte
	switch preferred {
	case CodecNone:
		return raw, CodecNone, nil
	case CodecS2:
		body = s2.Encode(c.body[:cap(c.body)], raw)
	case CodecZstd:
		body = c.compressor.EncodeAll(raw, c.body[:0])
	default:
		return nil, 0, fmt.Errorf("%w %d", ErrCodec, preferred)
	}
	c.body = kept(body)
	if len(body) >= len(raw) {
		return raw, CodecNone, nil
	}
	return body, preferred, nil
}

// decompress gives exactly rawLength bytes or an error; it allocates rawLength at most, which the caller has checked.
func (c *Coder) decompress(body []byte, codec Codec, rawLength int) ([]byte, error) {
	switch codec {
	case CodecNone:
		return body, nil // ParseBatch has checked that the lengths are equal
	case CodecS2:
		return decompressS2(body, rawLength)
	case CodecZstd:
		return c.decompressZstd(body, rawLength)
	}
	return nil, fmt.Errorf("%w %d", ErrCodec, codec)
}

func (c *Coder) decompressZstd(body []byte, rawLength int) ([]byte, error) {
	// The frame must say its length, and say the right one: without it DecodeAll grows the buffer before it sees that
	// the cap is exceeded, and prints to stderr.
	var h zstd.Header
	if err := h.Decode(body); err != nil || !h.HasFCS || h.FrameContentSize != uint64(rawLength) {
		return nil, fmt.Errorf("%w: zstd frame of %d bytes (told: %t), header says %d (%v)", ErrCorrupt, h.FrameContentSize, h.HasFCS, rawLength, err)
	}
	raw, err := c.decompressor.DecodeAll(body, make([]byte, 0, rawLength))
	return exactly(raw, rawLength, err)
}

func decompressS2(body []byte, rawLength int) ([]byte, error) {
	// The length stands in the body's own head: s2 allocates what it says.
	if n, err := s2.DecodedLen(body); err != nil || n != rawLength {
		return nil, fmt.Errorf("%w: s2 body says %d bytes, header %d (%v)", ErrCorrupt, n, rawLength, err)
	}
	raw, err := s2.Decode(make([]byte, rawLength), body)
	return exactly(raw, rawLength, err)
}

func exactly(raw []byte, rawLength int, err error) ([]byte, error) {
	if err != nil || len(raw) != rawLength {
		return nil, fmt.Errorf("%w: body gives %d bytes, header says %d (%v)", ErrCorrupt, len(raw), rawLength, err)
	}
	return raw, nil
}

// name gives b as a string, the same one for the same bytes.
func (c *Coder) name(b []byte) string {
	if s, ok := c.names[string(b)]; ok {
		return s
	}
	if len(c.names) >= maxNames {
		clear(c.names)
	}
	s := string(b)
	c.names[s] = s
	return s
}

// kept is what remains of a scratch buffer after its use.
func kept(b []byte) []byte {
	if cap(b) > maxKept {
		return nil
	}
	return b[:0]
}
