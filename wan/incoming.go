package wan

import (
	"io"

	"cloudqueue/federation"
)

// readControl takes what comes in on the control stream.
func (c *conn) readControl() error {
	for {
		f, _, err := c.frames.next()
		if err == io.EOF && c.qc.Context().Err() == nil {
			return c.endOfControl()
		}
		if err != nil {
			return c.streamEnded(err)
		}
		c.heard.Store(c.clock())
		if err := c.take(f); err != nil {
			return err
		}
	}
}

// take handles one control frame.
func (c *conn) take(f federation.Frame) error {
	switch f := f.(type) {
	case federation.Ack:
		return c.settle(f)
	case federation.Heartbeat:
		c.heardBeat(f)
		return nil
	case federation.Hello, federation.HelloAck, federation.Copy:
		return protocolError("frame of type %d on an open control stream", f.Type())
	}
	if c.index != 0 {
		return protocolError("frame of type %d on connection %d; it belongs on connection 0", f.Type(), c.index)
	}
	switch f := f.(type) {
	case federation.Drain:
		c.link.drainRequested(f)
	case federation.DrainDone:
		c.link.peerDrained()
	default:
		c.link.peer.e.cfg.Handler.Control(c.link, f)
	}
	return nil
}

// settle gives the peer's verdicts to those who wait for them.
func (c *conn) settle(ack federation.Ack) error {
	c.mu.Lock()
	s := c.byID[ack.Stream]
	c.mu.Unlock()
	if s == nil {
		return protocolError("ACK for stream %d, which is none of ours", ack.Stream)
	}
	all, err := s.pending.settle(ack)
	if err != nil {
		return err
	}
	c.link.progressed()
	c.deliver(s, all)
	return nil
}
