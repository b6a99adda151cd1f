package embedded

import (
	"encoding/binary"
	"fmt"
)

// frame takes one frame and does what it says. The error is an *exception that ends the connection, errGoodbye, or the
// connection's own.
func (c *connection) frame() error {
	start, err := c.in.head()
	if err != nil {
		return err
	}
	if start.kind == frameBody {
		return c.body(start)
	}
	payload := c.room(start.size)
	if err := c.in.payload(start, payload); err != nil {
		return err
	}
	switch start.kind {
	case frameMethod:
		return c.method(start.channel, payload)
	case frameHeader:
		return c.header(start.channel, payload)
	case frameHeartbeat:
		return heartbeatFault(start)
	}
	return badFrame(start.kind, payload, "unknown_frame")
}

// room is scratch memory for a payload, valid until the next frame.
func (c *connection) room(size int) []byte {
	if cap(c.scratch) < size {
		c.scratch = make([]byte, size)
	}
	return c.scratch[:size]
}

func (c *connection) method(number uint16, payload []byte) error {
	if len(payload) < 4 {
		return badFrame(frameMethod, payload, "unknown_frame")
	}
	id := methodID(binary.BigEndian.Uint32(payload))
	d := &decoder{rest: payload[4:]}
	if _, known := methodForms[id]; !known {
		return fmt.Errorf("method %d.%d does not exist", id>>16, id&0xffff) // RabbitMQ says nothing either
	}
	if number == 0 {
		return c.connectionMethod(id, d)
	}
	c.channelMethod(number, id, d)
	return nil
}

func (c *connection) channelMethod(number uint16, id methodID, d *decoder) {
	ch, ignored, refused := c.channelFor(number, id)
	if refused != nil {
		c.leaveAt(refused, refused.during(id))
	}
	if refused != nil || ignored {
		return
	}
	if refused := ch.content.unexpected(frameMethod); refused != nil {
		c.leaveAt(refused, ch.content.method())
		return
	}
	if id != basicPublish {
		ch.confirms.flush(ch)
	}
	c.judge(ch, id, c.do(ch, id, d))
}

func (c *connection) do(ch *channel, id methodID, d *decoder) *exception {
	if !wellFormed(id, d.rest) {
		return undecodable(d.rest)
	}
	c.broker.mu.Lock()
	defer c.broker.unlock()
	return ch.handle(id, d)
}

// channelFor finds the channel of a method, opening it for channel.open. A method for a channel that is closing, or on
// a closing connection, is ignored.
func (c *connection) channelFor(number uint16, id methodID) (ch *channel, ignored bool, refused *exception) {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	if c.closing {
		return nil, true, nil
	}
	ch = c.channels[number]
	switch {
	case ch == nil:
		return nil, true, c.openChannel(number, id)
	case !ch.ended:
		return ch, false, nil
	case id == channelCloseOK:
		delete(c.channels, number)
	case id == channelClose:
		ch.send(channelCloseOK, nil)
	}
	return nil, true, nil
}

func (c *connection) openChannel(number uint16, id methodID) *exception {
	if len(c.channels) >= int(c.channelMax) {
		return fail(replyNotAllowed, "number of channels opened (%d) has reached the negotiated channel_max (%d)",
			len(c.channels), c.channelMax)
	}
	if id != channelOpen {
		return fail(replyChannelError, "expected 'channel.open'")
	}
	c.channels[number] = newChannel(c, number)
	c.out.method(number, channelOpenOK, []byte{0, 0, 0, 0})
	return nil
}

// judge acts on a failed method: it closes the channel, or the connection when the code asks for that.
func (c *connection) judge(ch *channel, id methodID, refused *exception) {
	if refused == nil {
		return
	}
	if refused.code.endsConnection() {
		c.leaveAt(refused, refused.during(id))
		return
	}
	c.broker.log.Warn("closing channel", "connection", c.id, "channel", ch.id, "err", refused)
	c.broker.mu.Lock()
	defer c.broker.unlock()
	if !c.closing {
		ch.end()
		ch.send(channelClose, refused.appendClose(nil, id))
	}
}
