package embedded

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// protocolHeader is what a client sends first, and what it gets back when it sent anything else.
var protocolHeader = []byte("AMQP\x00\x00\x09\x01")

// handshake brings a connection to its first channel, within the handshake timeout:
//
//	client                     broker
//	protocol header  ------->
//	                 <-------  start (capabilities, mechanisms)
//	start-ok (login) ------->
//	                 <-------  tune (channel_max, frame_max, heartbeat)
//	tune-ok          ------->
//	open (vhost)     ------->
//	                 <-------  open-ok
func (c *connection) handshake() error {
	deadline := time.Now().Add(c.broker.cfg.HandshakeTimeout)
	c.patience.fix(deadline)
	if err := c.greet(); err != nil {
		return err
	}
	heartbeat := time.Duration(0)
	steps := []struct {
		want methodID
		do   func(d *decoder) *exception
	}{
		{connectionStartOK, c.startOK},
		{connectionTuneOK, func(d *decoder) (refused *exception) { heartbeat, refused = c.tuneOK(d); return refused }},
		{connectionOpen, c.open},
	}
	for _, s := range steps {
		if err := c.step(s.want, s.do); err != nil {
			return err
		}
		if c.isClosing() {
			return nil
		}
	}
	c.patience.relax(deadline, heartbeat)
	return nil
}

// greet checks the protocol header. RabbitMQ answers another one with its own and hangs up.
func (c *connection) greet() error {
	header := make([]byte, len(protocolHeader))
	if _, err := io.ReadFull(c.in.in, header); err != nil {
		return fmt.Errorf("read protocol header: %w", err)
	}
	if !bytes.Equal(header, protocolHeader) {
		c.out.raw(protocolHeader)
		return fmt.Errorf("protocol header %q", header)
	}
	c.out.method(0, connectionStart, startArguments(c.broker.cfg.Product))
	return nil
}

// step waits for one method of the handshake. A client may also close.
func (c *connection) step(want methodID, do func(d *decoder) *exception) error {
	for {
		start, err := c.in.head()
		if err != nil {
			return err
		}
		payload := c.room(start.size)
		if err := c.in.payload(start, payload); err != nil {
			return err
		}
		if start.kind == frameHeartbeat {
			continue
		}
		return c.stepMethod(start, payload, want, do)
	}
}

func (c *connection) stepMethod(start frameStart, payload []byte, want methodID, do func(d *decoder) *exception) error {
	d := &decoder{rest: payload}
	id := methodID(d.long())
	if start.kind != frameMethod || start.channel != 0 || d.broken {
		return fail(replyUnexpectedFrame, "frame of type %d on channel %d where the handshake goes on", start.kind,
			start.channel)
	}
	if id == connectionClose || id == connectionCloseOK {
		return c.connectionMethod(id, d)
	}
	if id != want {
		return fail(replyCommandInvalid, "method %d.%d where the handshake goes on", id>>16, id&0xffff)
	}
	if !wellFormed(id, d.rest) {
		return undecodable(d.rest)
	}
	if refused := do(d); refused != nil {
		return c.turnAway(refused, id)
	}
	return nil
}

// turnAway ends a handshake. As with RabbitMQ a refused virtual host is told to everybody, a refused login to clients
// that expect that, and anything else to nobody.
func (c *connection) turnAway(refused *exception, id methodID) error {
	switch {
	case id == connectionOpen:
		c.leaveAt(refused, id)
	case refused.code == replyAccessRefused && c.client.authNotify:
		c.leave(refused)
	default:
		return fmt.Errorf("handshake: %w", refused)
	}
	return nil
}
