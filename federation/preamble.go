package federation

import "fmt"

// StreamKind tells what a stream carries.
type StreamKind uint8

// Kinds of streams.
const (
	StreamControl StreamKind = 1
	StreamData    StreamKind = 2
)

// StreamPreamble is the first 4 bytes of every stream:
//
//	 0      1       2     4
//	 ├──────┼───────┼─────┤
//	 │ kind │ class │ 0   │
//	 └──────┴───────┴─────┘
//
//	off  size  field   valid                    a reader does with a bad one
//	0    1     kind    1 control, 2 data        refuses: ErrUnknownCritical
//	1    1     class   0 urgent, 1 normal, 2 bulk, others follow; 0 on the control stream   refuses: ErrCorrupt
//	2    2     zero    0                        refuses: ErrCorrupt
type StreamPreamble struct {
	Kind  StreamKind
	Class uint8
}

// PreambleSize is the bytes of a stream's preamble.
const PreambleSize = 4

// AppendPreamble appends the 4 bytes.
func AppendPreamble(dst []byte, p StreamPreamble) []byte {
	return append(dst, uint8(p.Kind), p.Class, 0, 0)
}

// ParsePreamble reads 4 bytes. Errors wrap ErrIncomplete (fewer bytes), ErrCorrupt or ErrUnknownCritical.
func ParsePreamble(b []byte) (StreamPreamble, error) {
	if len(b) < PreambleSize {
		return StreamPreamble{}, fmt.Errorf("stream preamble of %d bytes: %w", len(b), ErrIncomplete)
	}
	r := reader{b: b[:PreambleSize]}
	p := StreamPreamble{Kind: StreamKind(r.u8()), Class: r.u8()}
	if p.Kind != StreamControl && p.Kind != StreamData {
		r.fail(unknownCritical("stream kind", uint64(p.Kind)))
	}
	r.refuse(p.Kind == StreamControl && p.Class != 0, "class %d on a control stream", p.Class)
	r.zeros(2)
	if err := r.end("stream preamble"); err != nil {
		return StreamPreamble{}, err
	}
	return p, nil
}
