package embedded

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"time"
)

// protocolHeader is what a client sends first, and what it gets back when it sent anything else.
var protocolHeader = []byte("AMQP\x00\x00\x09\x01")

// clientProperties are the capabilities of a client that the broker asks about.
type clientProperties struct {
	cancelNotify  bool   // consumer_cancel_notify
	blockedNotify bool   // connection.blocked
	authNotify    bool   // authentication_failure_close
	name          string // connection_name, for people
}

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

// startArguments are what the broker says of itself.
//
//	version-major octet · version-minor octet · server-properties table · mechanisms longstr · locales longstr
func startArguments(product string) []byte {
	yes := boolValue(true)
	capabilities := table{
		{"publisher_confirms", yes}, {"exchange_exchange_bindings", yes}, {"basic.nack", yes},
		{"consumer_cancel_notify", yes}, {"connection.blocked", yes}, {"consumer_priorities", yes},
		{"authentication_failure_close", yes}, {"per_consumer_qos", yes}, {"direct_reply_to", yes},
	}
	server := table{
		{"capabilities", tableValue(capabilities)},
		{"product", textValue(product)},
		{"platform", textValue(runtime.Version())},
		{"information", textValue("In memory. Behaves as RabbitMQ 3.10.")},
		{"version", textValue("3.10.8")},
	}
	b := append([]byte{0, 9}, server.encode()...)
	b = appendLongString(b, "AMQPLAIN PLAIN")
	return appendLongString(b, "en_US")
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
		return fail(replyUnexpectedFrame, "frame of type %d on channel %d where the handshake goes on", start.kind, start.channel)
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

// turnAway ends a handshake. As with RabbitMQ a refused virtual host is told to everybody, a refused login to clients that
// expect that, and anything else to nobody.
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

// startOK checks the login and proposes the limits.
//
//	client-properties table · mechanism shortstr · response longstr · locale shortstr
func (c *connection) startOK(d *decoder) *exception {
	properties, _ := d.table()
	c.client = readClientProperties(properties)
	mechanism, response := d.shortString(), d.longBytes()
	user, refused := c.broker.authenticate(mechanism, response)
	if refused != nil {
		return refused
	}
	c.user = user
	limits := &c.broker.limits
	args := appendShort(nil, limits.ChannelMax)
	args = appendLong(args, limits.FrameMax)
	c.out.method(0, connectionTune, appendShort(args, uint16(c.broker.cfg.Heartbeat/time.Second)))
	return nil
}

func readClientProperties(t table) clientProperties {
	capabilities, _ := t.get("capabilities").table()
	has := func(name string) bool { on, _ := capabilities.get(name).boolean(); return on }
	name, _ := t.get("connection_name").text()
	return clientProperties{
		cancelNotify:  has("consumer_cancel_notify"),
		blockedNotify: has("connection.blocked"),
		authNotify:    has("authentication_failure_close"),
		name:          name,
	}
}

// tuneOK takes what the client made of the proposal.
//
//	channel-max short · frame-max long · heartbeat short, in seconds, 0 for none
func (c *connection) tuneOK(d *decoder) (heartbeat time.Duration, refused *exception) {
	channelMax, frameMax := d.short(), d.long()
	heartbeat = time.Duration(d.short()) * time.Second
	limits := &c.broker.limits
	if refused := negotiable("channel_max", 1, int64(limits.ChannelMax), int64(channelMax)); refused != nil {
		return 0, refused
	}
	if refused := negotiable("frame_max", minFrameMax, int64(limits.FrameMax), int64(frameMax)); refused != nil {
		return 0, refused
	}
	c.channelMax = channelMax
	c.in.max = frameMax
	c.out.tuned(frameMax, heartbeat)
	return heartbeat, nil
}

// negotiable refuses a client's value outside least to most. 0 stands for "no limit", which is too much.
func negotiable(name string, least, most, got int64) *exception {
	detail := ""
	if name == "channel_max" && got == 0 {
		detail = " (no limit)"
	}
	switch {
	case got != 0 && got < least:
		return fail(replyNotAllowed, "negotiated %s = %d%s is lower than the minimum allowed value (%d)", name, got, detail, least)
	case got == 0 || got > most:
		return fail(replyNotAllowed, "negotiated %s = %d%s is higher than the maximum allowed value (%d)", name, got, detail, most)
	}
	return nil
}

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
