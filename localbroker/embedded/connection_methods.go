package embedded

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
