package embedded

// SetAlarm raises or clears an alarm by hand, as an administrator's memory limit of nearly nothing would at RabbitMQ: a
// connection that publishes is told (connection.blocked) and not read until the alarm is over; consuming goes on.
func (b *Broker) SetAlarm(on bool) {
	b.mu.Lock()
	defer b.unlock()
	b.alarm.manual = on
	b.judgeMemory()
}

// alarm says whether publishers wait. Guarded by Broker.mu, except that over is closed without it in hand.
type alarm struct {
	manual bool
	memory bool
	over   chan struct{} // closed when the alarm ends; nil while there is none
}

// judgeMemory raises the alarm above the limit and ends it below nine tenths of it, so that it does not flutter.
func (b *Broker) judgeMemory() {
	a := &b.alarm
	if b.held > b.limits.MemoryBytes {
		a.memory = true
	} else if b.held < b.limits.MemoryBytes/10*9 {
		a.memory = false
	}
	raised := a.manual || a.memory
	if raised == (a.over != nil) {
		return
	}
	b.log.Warn("alarm", "raised", raised, "held_bytes", b.held)
	b.raised.Store(raised)
	if raised {
		a.over = make(chan struct{})
		return
	}
	close(a.over)
	a.over = nil
}

// blockWhileAlarmed is called by a reader that has a publish in hand. During an alarm it tells the client, and returns
// when the alarm is over or the connection ends.
func (c *connection) blockWhileAlarmed() {
	if !c.broker.raised.Load() {
		return
	}
	over := c.block()
	if over == nil {
		return
	}
	c.confirmAll()
	c.notifyBlocked(connectionBlocked, appendShortString(nil, "low on memory"))
	select { // both may come at once: then the connection ends at its next read
	case <-over:
	case <-c.leaving:
	}
	c.unblock()
	if !c.isClosing() {
		c.notifyBlocked(connectionUnblocked, nil)
	}
}

// block returns what to wait for, or nil when the alarm has ended since.
func (c *connection) block() (over <-chan struct{}) {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	c.blocked = c.broker.alarm.over != nil
	return c.broker.alarm.over
}

func (c *connection) unblock() {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	c.blocked = false
}

func (c *connection) notifyBlocked(id methodID, args []byte) {
	if c.client.blockedNotify {
		c.out.method(0, id, args)
	}
}
