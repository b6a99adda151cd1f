package amqpwire

import "encoding/binary"

// appendHead begins a frame.
func appendHead(dst []byte, kind byte, channel uint16, size int) []byte {
	dst = append(dst, kind)
	dst = binary.BigEndian.AppendUint16(dst, channel)
	return binary.BigEndian.AppendUint32(dst, uint32(size))
}

// Content is a message as it is published.
type Content struct {
	Exchange, Key    string // at most 255 bytes each
	Mandatory        bool
	Properties, Body []byte
}

// FitsHeader tells whether the content header fits one frame of frameMax bytes (0: no limit), as it must.
func (c *Content) FitsHeader(frameMax int) bool {
	return frameMax == 0 || len(c.Properties) <= frameMax-FrameOverhead-ContentHead
}

// AppendPublish appends basic.publish, the content header and the body in frames of at most frameMax bytes (0: no
// limit).
func AppendPublish(dst []byte, channel uint16, frameMax int, c *Content) []byte {
	dst = appendHead(dst, FrameMethod, channel, 9+len(c.Exchange)+len(c.Key))
	dst = binary.BigEndian.AppendUint32(dst, uint32(BasicPublish))
	dst = append(dst, 0, 0) // reserved
	dst = appendName(dst, c.Exchange)
	dst = appendName(dst, c.Key)
	bits := byte(0)
	if c.Mandatory {
		bits = 1
	}
	dst = append(dst, bits, FrameEnd)

	dst = appendHead(dst, FrameHeader, channel, ContentHead+len(c.Properties))
	dst = append(dst, 0, 60, 0, 0) // class basic, weight
	dst = binary.BigEndian.AppendUint64(dst, uint64(len(c.Body)))
	dst = append(dst, c.Properties...)
	dst = append(dst, FrameEnd)

	for body := c.Body; len(body) > 0; {
		n := len(body)
		if frameMax > 0 {
			n = min(n, frameMax-FrameOverhead)
		}
		dst = appendHead(dst, FrameBody, channel, n)
		dst = append(dst, body[:n]...)
		dst = append(dst, FrameEnd)
		body = body[n:]
	}
	return dst
}

// AppendAck appends basic.ack of every delivery up to tag.
func AppendAck(dst []byte, channel uint16, tag uint64) []byte {
	return appendAnswer(dst, channel, BasicAck, tag, 1)
}

// AppendNack appends basic.nack of every delivery up to tag (0: all), with requeue.
func AppendNack(dst []byte, channel uint16, tag uint64) []byte {
	return appendAnswer(dst, channel, BasicNack, tag, 1|2)
}

func appendAnswer(dst []byte, channel uint16, method Method, tag uint64, bits byte) []byte {
	dst = appendHead(dst, FrameMethod, channel, 13)
	dst = binary.BigEndian.AppendUint32(dst, uint32(method))
	dst = binary.BigEndian.AppendUint64(dst, tag)
	return append(dst, bits, FrameEnd)
}
