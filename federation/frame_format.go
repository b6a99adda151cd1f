package federation

import "fmt"

// A frame on a stream:
//
//	 0            4      5       6      8
//	 ├────────────┼──────┼───────┼──────┼─────────────────────┐
//	 │ length u32 │ type │ flags │ 0    │ payload, length …   │
//	 └────────────┴──────┴───────┴──────┴─────────────────────┘
//
//	off  size  field    valid                            a reader does with a bad one
//	0    4     length   of the payload: COPY ≤ MaxCopyFrame, SYNC ≤ MaxSyncFrame, others ≤ MaxControlFrame
//	                                                     refuses before it allocates: ErrCorrupt
//	4    1     type     FrameType                        unknown and critical: ErrUnknownCritical; unknown: skips it
//	5    1     flags    bit 0 critical: set on every type of version 1   other bits: ErrUnknownCritical; not set on a type of version 1: ErrCorrupt
//	6    2     zero     0                                refuses: ErrCorrupt
//
// A payload ends with TLVs (tlv.go), but for COPY, whose sidecar has them. Inside a payload a structure that has an end
// of its own stands behind its length. ErrCorrupt and ErrUnknownCritical end the connection: the stream has no next
// frame to be found. (docs/design.md section 13, Wire.)

// FrameHeaderSize is the bytes before a frame's payload: payload length u32, type u8, flags u8 (bit 0: critical, a
// reader that does not know the type closes the connection), zero u16.
const FrameHeaderSize = 8

const frameCritical = 1 << 0

// FrameHeader is the fixed head of every frame.
type FrameHeader struct {
	Length   uint32
	Type     FrameType
	Critical bool
}

// ParseFrameHeader reads FrameHeaderSize bytes and refuses a length over the limit of its type, before anyone allocates
// for it. Errors wrap ErrIncomplete (fewer bytes), ErrCorrupt or ErrUnknownCritical.
func ParseFrameHeader(b []byte) (FrameHeader, error) {
	if len(b) < FrameHeaderSize {
		return FrameHeader{}, fmt.Errorf("frame header of %d bytes: %w", len(b), ErrIncomplete)
	}
	r := reader{b: b[:FrameHeaderSize]}
	h := FrameHeader{Length: r.u32(), Type: FrameType(r.u8())}
	flags := r.u8()
	h.Critical = flags&frameCritical != 0
	if flags&^frameCritical != 0 {
		r.fail(unknownCritical("frame flags", uint64(flags)))
	}
	r.zeros(2)
	r.refuse(h.Length > maxPayload(h.Type), "length %d, limit %d", h.Length, maxPayload(h.Type))
	r.refuse(!h.Critical && h.Type.known(), "not critical")
	if h.Critical && !h.Type.known() && r.err == nil {
		r.fail(unknownCritical("frame type", uint64(h.Type)))
	}
	if err := r.end(fmt.Sprintf("header of frame type %d", h.Type)); err != nil {
		return FrameHeader{}, err
	}
	return h, nil
}

func (t FrameType) known() bool {
	return t >= TypeHello && t <= TypeHeartbeat || t == TypeDrain || t == TypeDrainDone
}

func maxPayload(t FrameType) uint32 {
	switch t {
	case TypeCopy:
		return MaxCopyFrame
	case TypeSync:
		return MaxSyncFrame
	}
	return MaxControlFrame
}

// ParseFrame reads the payload of a frame; Copy.Batch shares it, nothing else does. An unknown type that is not
// critical gives nil, nil. Errors wrap ErrCorrupt, ErrUnknownCritical or ErrVersion.
func ParseFrame(h FrameHeader, payload []byte) (Frame, error) {
	r := reader{b: payload}
	r.refuse(uint64(len(payload)) != uint64(h.Length), "%d bytes of payload, header says %d", len(payload), h.Length)
	f := r.frame(h)
	if err := r.end(fmt.Sprintf("frame type %d", h.Type)); err != nil {
		return nil, err
	}
	return f, nil
}

func (r *reader) frame(h FrameHeader) Frame {
	switch h.Type {
	case TypeHello:
		return r.hello()
	case TypeHelloAck:
		return r.helloAck()
	case TypeLaneOpen:
		return r.laneOpen()
	case TypeLaneState:
		return r.laneState()
	case TypeCopy:
		return r.copy()
	case TypeAck:
		return r.ack()
	case TypeWindow:
		return r.window()
	case TypeReceipt:
		return r.receipt()
	case TypeSyncReq:
		return r.syncReq()
	case TypeSync:
		return r.sync()
	case TypeHeartbeat:
		return r.heartbeat()
	case TypeDrain:
		return Drain{Reason: r.text(), Extensions: r.extensions()}
	case TypeDrainDone:
		return DrainDone{Extensions: r.extensions()}
	}
	if h.Critical {
		r.fail(unknownCritical("frame type", uint64(h.Type)))
	}
	r.b = nil
	return nil
}

// AppendFrame appends header and payload. A Copy's batch is appended too; AppendCopyHead leaves it out, for senders
// that write it by itself. ErrTooLarge: over a limit; any other error: a value that no frame may have.
func AppendFrame(dst []byte, f Frame) ([]byte, error) {
	w := writer{b: dst}
	w.frameHeader(f.Type())
	w.frame(f)
	return w.endFrame(dst, f.Type(), 0)
}

func (w *writer) frameHeader(t FrameType) {
	w.u32(0) // endFrame knows the length
	w.u8(uint8(t))
	w.u8(frameCritical)
	w.u16(0)
}

// endFrame fills in the length; after it the caller writes more bytes by itself.
func (w *writer) endFrame(dst []byte, t FrameType, more int) ([]byte, error) {
	length := len(w.b) - len(dst) - FrameHeaderSize + more
	w.count(length, int(maxPayload(t)), "bytes of payload")
	if w.err != nil {
		return dst, fmt.Errorf("frame type %d: %w", t, w.err)
	}
	putUint32(w.b[len(dst):], uint32(length))
	return w.b, nil
}

func (w *writer) frame(f Frame) {
	switch f := f.(type) {
	case Hello:
		w.hello(&f)
	case HelloAck:
		w.helloAck(&f)
	case LaneOpen:
		w.laneOpen(&f)
	case LaneState:
		w.laneState(&f)
	case Copy:
		w.copyHead(&f)
		w.bytes(f.Batch)
	case Ack:
		w.ack(&f)
	case Window:
		w.window(&f)
	case Receipt:
		w.receipt(&f)
	case SyncReq:
		w.syncReq(&f)
	case Sync:
		w.sync(&f)
	case Heartbeat:
		w.heartbeat(&f)
	case Drain:
		w.text(f.Reason)
		w.tlvs(f.Extensions)
	case DrainDone:
		w.tlvs(f.Extensions)
	default:
		w.fail("a %T is not a frame of this package", f)
	}
}

// verdict takes a verdict; LinkLost is never sent.
func (r *reader) verdict() Verdict {
	v := Verdict(r.u8())
	r.refuse(v == LinkLost, "verdict LINK_LOST")
	return v
}

func (w *writer) verdict(v Verdict) {
	if v == LinkLost {
		w.fail("LINK_LOST is never sent")
	}
	w.u8(uint8(v))
}

// nested writes a structure that ends with its last byte behind its length, u32.
func (w *writer) nested(write func()) {
	w.u32(0)
	start := len(w.b)
	write()
	putUint32(w.b[start-4:], uint32(len(w.b)-start))
}

// nested gives a reader on a structure behind its length.
func (r *reader) nested() reader {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)) {
		r.corrupt("length %d, %d bytes left", n, len(r.b))
	}
	return reader{b: r.take(int(n)), err: r.err}
}
