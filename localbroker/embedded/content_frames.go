package embedded

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
