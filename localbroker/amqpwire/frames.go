package amqpwire

import "encoding/binary"

// Frames (specification 2.3.5), all integers big endian:
//
//	 0      1         3          7             7+size  8+size
//	+------+---------+----------+-------------+-------+
//	| type | channel | size     | payload     | 0xCE  |
//	| u8   | u16     | u32      | size bytes  |       |
//	+------+---------+----------+-------------+-------+
//
// A method's payload is class u16, method u16 and its arguments. A content is a method frame, a content-header frame
// (package comment) and body frames.
const (
	FrameMethod = 1
	FrameHeader = 2
	FrameBody   = 3

	FrameHead     = 7    // bytes before the payload
	FrameEnd      = 0xCE // the byte after it
	FrameOverhead = 8    // bytes around the payload
	ContentHead   = 12   // bytes of a content header before the property flags
)

// Method is class and method of a method frame, class in the high half.
type Method uint32

// Methods that are not left to the client library.
const (
	ConnectionClose     Method = 10<<16 | 50
	ConnectionBlocked   Method = 10<<16 | 60
	ConnectionUnblocked Method = 10<<16 | 61
	ChannelOpen         Method = 20<<16 | 10
	ChannelClose        Method = 20<<16 | 40
	ChannelCloseOK      Method = 20<<16 | 41
	BasicPublish        Method = 60<<16 | 40
	BasicCancel         Method = 60<<16 | 30
	BasicReturn         Method = 60<<16 | 50
	BasicDeliver        Method = 60<<16 | 60
	BasicGetOK          Method = 60<<16 | 71
	BasicAck            Method = 60<<16 | 80
	BasicNack           Method = 60<<16 | 120
)

// Head is the head of a frame.
type Head struct {
	Type    byte
	Channel uint16
	Size    uint32
}

// ParseHead reads FrameHead bytes.
func ParseHead(b []byte) Head {
	return Head{b[0], binary.BigEndian.Uint16(b[1:]), binary.BigEndian.Uint32(b[3:])}
}

// ParseMethod cuts a method frame's payload.
func ParseMethod(payload []byte) (m Method, args []byte, ok bool) {
	if len(payload) < 4 {
		return 0, nil, false
	}
	return Method(binary.BigEndian.Uint32(payload)), payload[4:], true
}

// ParseContentHeader cuts a content-header frame's payload.
func ParseContentHeader(payload []byte) (bodySize uint64, properties []byte, ok bool) {
	if len(payload) < ContentHead+2 {
		return 0, nil, false
	}
	return binary.BigEndian.Uint64(payload[4:]), payload[ContentHead:], true
}

// Deliver is basic.deliver; its slices share the frame.
type Deliver struct {
	ConsumerTag   []byte
	Tag           uint64
	Redelivered   bool
	Exchange, Key []byte
}

// ParseDeliver reads the arguments of basic.deliver.
func ParseDeliver(args []byte) (d Deliver, ok bool) {
	r := reader{b: args}
	d.ConsumerTag = r.short()
	d.Tag = r.u64()
	d.Redelivered = r.u8()&1 != 0
	d.Exchange = r.short()
	d.Key = r.short()
	return d, !r.bad
}

// Return is basic.return; its slices share the frame.
type Return struct {
	Code          uint16
	Text          []byte
	Exchange, Key []byte
}

// ParseReturn reads the arguments of basic.return.
func ParseReturn(args []byte) (ret Return, ok bool) {
	r := reader{b: args}
	ret.Code = r.u16()
	ret.Text = r.short()
	ret.Exchange = r.short()
	ret.Key = r.short()
	return ret, !r.bad
}

// ParseConfirm reads the arguments of basic.ack or basic.nack.
func ParseConfirm(args []byte) (tag uint64, multiple, ok bool) {
	r := reader{b: args}
	tag = r.u64()
	multiple = r.u8()&1 != 0
	return tag, multiple, !r.bad
}

// ParseClose reads the arguments of channel.close or connection.close; cause is the method that the broker blames, 0
// for none.
func ParseClose(args []byte) (code uint16, text string, cause Method, ok bool) {
	r := reader{b: args}
	code = r.u16()
	text = string(r.short())
	cause = Method(r.u16())<<16 | Method(r.u16())
	return code, text, cause, !r.bad
}

// ParseShort reads arguments that begin with a short string: the reason of connection.blocked, the consumer tag of
// basic.cancel.
func ParseShort(args []byte) (string, bool) {
	r := reader{b: args}
	s := string(r.short())
	return s, !r.bad
}

// reader reads arguments; after the first that is cut off everything is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || len(r.b) < n {
		r.bad = true
		return make([]byte, min(n, 8))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) u8() byte    { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }
func (r *reader) short() []byte {
	n := int(r.u8())
	if r.bad {
		return nil
	}
	return r.take(n)
}
