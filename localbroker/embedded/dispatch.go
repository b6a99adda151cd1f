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
	ch, ignored, refused := c.channelFor(number, id)
	if refused != nil {
		c.leaveAt(refused, refused.during(id))
	}
	if refused != nil || ignored {
		return nil
	}
	if refused := ch.content.unexpected(frameMethod); refused != nil {
		c.leaveAt(refused, ch.content.method())
		return nil
	}
	if id != basicPublish {
		ch.confirms.flush(ch)
	}
	c.judge(ch, id, c.do(ch, id, d))
	return nil
}

func (c *connection) do(ch *channel, id methodID, d *decoder) *exception {
	if !wellFormed(id, d.rest) {
		return undecodable(d.rest)
	}
	c.broker.mu.Lock()
	defer c.broker.unlock()
	return ch.handle(id, d)
}

// channelFor finds the channel of a method, opening it for channel.open. A method for a channel that is closing, or on a
// closing connection, is ignored.
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
		return fail(replyNotAllowed, "number of channels opened (%d) has reached the negotiated channel_max (%d)", len(c.channels), c.channelMax)
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
	c.broker.log.Warn("channel refused", "connection", c.id, "channel", ch.id, "err", refused)
	c.broker.mu.Lock()
	defer c.broker.unlock()
	if !c.closing {
		ch.end()
		ch.send(channelClose, refused.appendClose(nil, id))
	}
}

// live returns the channel that content frames belong to, or nil when they are to be ignored.
func (c *connection) live(number uint16) (*channel, *exception) {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	ch := c.channels[number]
	switch {
	case c.closing || ch != nil && ch.ended:
		return nil, nil
	case ch == nil:
		return nil, fail(replyUnexpectedFrame, "expected method frame, got non method frame instead")
	}
	return ch, nil
}

func (c *connection) header(number uint16, payload []byte) error {
	ch, refused := c.live(number)
	if refused != nil {
		return refused
	}
	if ch == nil {
		return nil
	}
	c.judge(ch, ch.content.method(), ch.header(payload))
	c.blockWhileAlarmed()
	return c.publishIfComplete(ch)
}

// body reads a body frame straight into its message.
func (c *connection) body(start frameStart) error {
	ch, refused := c.live(start.channel)
	if refused != nil {
		return refused
	}
	if ch == nil {
		return c.in.payload(start, c.room(start.size))
	}
	into, refused := ch.room(start.size)
	if refused != nil {
		c.leaveAt(refused, ch.content.method())
		into = c.room(start.size)
	}
	if err := c.in.payload(start, into); err != nil {
		return err
	}
	return c.publishIfComplete(ch)
}

func (c *connection) publishIfComplete(ch *channel) error {
	content, complete := ch.complete()
	if !complete {
		return nil
	}
	refused := c.publish(ch, content)
	if ch.confirms.pending > 0 && !ch.confirms.listed {
		ch.confirms.listed = true
		c.unconfirmed = append(c.unconfirmed, ch)
	}
	c.judge(ch, basicPublish, refused)
	return nil
}

func (c *connection) publish(ch *channel, content content) *exception {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	if c.closing {
		return nil
	}
	return ch.publish(content)
}

// connectionMethod does the methods of channel 0 after the handshake.
func (c *connection) connectionMethod(id methodID, d *decoder) error {
	if !wellFormed(id, d.rest) {
		c.leaveAt(undecodable(d.rest), id)
		return nil
	}
	switch id {
	case connectionClose:
		if c.beginClosing() {
			c.confirmAll()
		}
		c.out.method(0, connectionCloseOK, nil)
		return errGoodbye
	case connectionCloseOK:
		return errGoodbye
	case updateSecret:
		c.out.method(0, updateSecretOK, nil)
		return nil
	}
	if c.isClosing() {
		return nil
	}
	c.leaveAt(fail(replyCommandInvalid, "unexpected method %d.%d on channel 0", id>>16, id&0xffff), id)
	return nil
}

func (c *connection) isClosing() bool {
	select {
	case <-c.leaving:
		return true
	default:
		return false
	}
}
