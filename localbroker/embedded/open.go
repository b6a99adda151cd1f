package embedded

// open admits the client to the virtual host.
//
//	virtual-host shortstr · reserved shortstr · reserved bit
func (c *connection) open(d *decoder) *exception {
	if vhost := d.shortString(); vhost != c.broker.vhost {
		return fail(replyNotAllowed, "vhost %s not found", vhost)
	}
	if !c.broker.admit(c) {
		return fail(replyNotAllowed, "access to vhost '%s' refused for user '%s': connection limit (%d) is reached",
			c.broker.vhost, c.user, c.broker.limits.Connections)
	}
	c.out.method(0, connectionOpenOK, []byte{0})
	c.broker.log.Info("connection open", "connection", c.id, "user", c.user, "client", c.client.name)
	return nil
}

func (b *Broker) admit(c *connection) bool {
	b.mu.Lock()
	defer b.unlock()
	if b.open >= b.limits.Connections {
		b.counters.RefusedConnections++
		return false
	}
	b.open++
	c.opened = true
	return true
}
