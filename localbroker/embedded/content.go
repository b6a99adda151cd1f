package embedded

import "encoding/binary"

// content is a message on its way in: basic.publish, then a header, then as many body frames as its size needs.
type content struct {
	expected  contentPart
	exchange  string
	key       string
	mandatory bool
	props     properties
	size      int64
	body      []byte
}

// contentPart is what has to come next on a channel.
type contentPart int

const (
	expectMethod contentPart = iota
	expectHeader
	expectBody
)

// unexpected is the exception for a frame of a kind that cannot come next.
func (c *content) unexpected(kind byte) *exception {
	switch {
	case c.expected == expectMethod && kind != frameMethod:
		return fail(replyUnexpectedFrame, "expected method frame, got non method frame instead")
	case c.expected == expectHeader && kind != frameHeader:
		return fail(replyUnexpectedFrame, "expected content header for class %d, got non content header frame instead",
			basicClass)
	case c.expected == expectBody && kind != frameBody:
		return fail(replyUnexpectedFrame, "expected content body, got non content body frame instead")
	}
	return nil
}

// method is what an exception names as the method that failed.
func (c *content) method() methodID {
	if c.expected == expectMethod {
		return 0
	}
	return basicPublish
}

// beginPublish notes a basic.publish.
//
//	reserved short · exchange shortstr · routing-key shortstr · bits mandatory, immediate
func (ch *channel) beginPublish(d *decoder) *exception {
	d.short()
	exchange, key, flags := d.shortString(), d.shortString(), d.bits()
	ch.content = content{expected: expectHeader, exchange: exchange, key: key, mandatory: flags.has(0)}
	if flags.has(1) {
		return fail(replyNotImplemented, "immediate=true")
	}
	return nil
}

// header takes a content header's payload, which it does not keep.
//
//	class short · weight short · body size longlong · properties
func (ch *channel) header(payload []byte) *exception {
	c := &ch.content
	if refused := c.unexpected(frameHeader); refused != nil {
		return refused
	}
	if len(payload) < 14 {
		return badFrame(frameHeader, payload, "unknown_frame")
	}
	if class := binary.BigEndian.Uint16(payload); class != basicClass {
		return fail(replyUnexpectedFrame, "expected content header for class %d, got one for class %d instead",
			basicClass, class)
	}
	size := binary.BigEndian.Uint64(payload[4:])
	if limit := ch.broker.limits.MessageBytes; size > uint64(limit) {
		return fail(replyPreconditionFailed, "message size %d is larger than configured max size %d", size, limit)
	}
	props, ok := scanProperties(append([]byte(nil), payload[12:]...))
	if !ok {
		return fail(replyInternalError, "the property list cannot be decoded")
	}
	c.props, c.size, c.expected = props, int64(size), expectBody
	return nil
}

// room returns where the next n bytes of the body go. Memory grows with what has come, not with what was announced,
// except that a body of one frame gets its exact size at once.
func (ch *channel) room(n int) ([]byte, *exception) {
	c := &ch.content
	if refused := c.unexpected(frameBody); refused != nil {
		return nil, refused
	}
	have := len(c.body)
	if int64(have)+int64(n) > c.size {
		return nil, fail(replyFrameError, "body of %d bytes where %d were announced", have+n, c.size)
	}
	if limit := 2 * ch.broker.limits.MessageBytes; ch.connection.arriving+int64(n) > limit {
		return nil, fail(replyResourceError, "more than %d bytes of unfinished messages on one connection", limit)
	}
	ch.connection.arriving += int64(n)
	if c.body == nil {
		c.body = make([]byte, n)
		return c.body, nil
	}
	c.body = append(c.body, make([]byte, n)...)
	return c.body[have:], nil
}

// complete takes the message out once all of it is here.
func (ch *channel) complete() (content, bool) {
	c := ch.content
	if c.expected != expectBody || int64(len(c.body)) < c.size {
		return content{}, false
	}
	ch.resetContent()
	return c, true
}

func (ch *channel) resetContent() {
	ch.connection.arriving -= int64(len(ch.content.body))
	ch.content = content{}
}
