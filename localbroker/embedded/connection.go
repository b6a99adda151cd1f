package embedded

import (
	"bufio"
	"errors"
	"io"
	"net"
	"time"
)

// connection is one client. Two goroutines serve it: the reader (ServeConn's own), which does what the client asks, and
// the writer of its outbox.
type connection struct {
	broker   *Broker
	conn     net.Conn
	patience *patience
	in       frameReader
	out      *outbox
	done     chan struct{} // closed when it is all over
	leaving  chan struct{} // closed with closing

	// Of the reader; user and client do not change after the handshake.
	user        string
	client      clientProperties
	channelMax  uint16
	scratch     []byte     // payload of the frame in hand
	unconfirmed []*channel // with acks that wait, see confirms
	arriving    int64      // bytes of bodies that are not complete
	doomed      bool       // see doom

	// Guarded by Broker.mu; the reader alone changes channels.
	id       uint64
	opened   bool // the handshake is over
	channels map[uint16]*channel
	closing  bool // connection.close is sent, or the connection is broken: requests are ignored, nothing is delivered
	blocked  bool // not read until the alarm is over
}

func newConnection(b *Broker, conn net.Conn) *connection {
	p := &patience{conn: conn}
	return &connection{
		broker:   b,
		conn:     conn,
		patience: p,
		in:       frameReader{in: bufio.NewReaderSize(p, readBuffer), max: minFrameMax},
		out:      newOutbox(conn, b.limits, b.cfg.WriteTimeout),
		done:     make(chan struct{}),
		leaving:  make(chan struct{}),
		channels: map[uint16]*channel{},
	}
}

// readBuffer holds 60 messages of 1 KiB; twice as much made no difference (BenchmarkPublishConfirm).
const readBuffer = 64 << 10

func (c *connection) serve() {
	written := make(chan struct{})
	go func() {
		defer close(written)
		if err := c.out.run(c.deliverMore); err != nil {
			c.cut()
		}
	}()
	err := c.converse()
	c.endChannels()
	c.out.close(time.Now().Add(c.broker.cfg.CloseTimeout))
	<-written
	c.hangUp()
	c.broker.log.Info("connection closed", "connection", c.id, "err", err)
}

// converse reads and does what the client asks until the end. The error is nil after a close that either side asked
// for.
func (c *connection) converse() error {
	err := c.handshake()
	for err == nil {
		c.pause()
		err = c.frame()
		if c.doomed {
			c.cut()
			return nil
		}
		switch why := err.(type) {
		case *exception:
			c.leave(why)
			err = nil // until close-ok
		case desync:
			c.leave(why.exception)
		}
	}
	if errors.Is(err, errGoodbye) {
		return nil
	}
	return err
}

// errGoodbye ends the reader after close and close-ok.
var errGoodbye = errors.New("goodbye")

// pause sends what waits for a moment of rest, and stops reading a client that does not read.
func (c *connection) pause() {
	if c.in.in.Buffered() == 0 {
		c.confirmAll()
	}
	c.out.waitForRoom(c.leaving)
}

// confirmAll sends the acks that wait. An exception of the connection drops them, as one of a channel does.
func (c *connection) confirmAll() {
	for _, ch := range c.unconfirmed {
		ch.confirms.listed = false
		if c.isLeaving() {
			ch.confirms.pending = 0
		}
		ch.confirms.flush(ch)
	}
	c.unconfirmed = c.unconfirmed[:0]
}

// leave begins the end of the connection: the client is told why and has the close timeout to answer. From here on
// nothing else is done for it.
func (c *connection) leave(why *exception) { c.leaveAt(why, 0) }

func (c *connection) leaveAt(why *exception, failed methodID) {
	if !c.beginClosing() {
		return
	}
	c.broker.log.Warn("closing connection", "connection", c.id, "err", why)
	c.out.method(0, connectionClose, why.appendClose(nil, failed))
	c.patience.fix(time.Now().Add(c.broker.cfg.CloseTimeout))
}

// cut ends the connection without a word.
func (c *connection) cut() {
	c.beginClosing()
	c.conn.Close()
}

// doom makes the reader cut the connection when it is done with the frame in hand. Broker.mu is held.
func (c *connection) doom() {
	c.doomed = true
	c.setClosing()
}

// beginClosing is false when that has happened before.
func (c *connection) beginClosing() bool {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	return c.setClosing()
}

func (c *connection) setClosing() bool {
	if c.closing {
		return false
	}
	c.closing = true
	close(c.leaving)
	return true
}

func (c *connection) isLeaving() bool {
	select {
	case <-c.leaving:
		return true
	default:
		return false
	}
}

// endChannels gives back what the client had: consumers, unsettled messages, exclusive queues.
func (c *connection) endChannels() {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	c.setClosing()
	for _, ch := range c.channels {
		ch.end()
	}
	for _, q := range c.broker.queues {
		if q.owner == c {
			q.delete()
		}
	}
}

// deliverMore serves the connection's consumers after a full outbox was written.
func (c *connection) deliverMore() {
	c.broker.mu.Lock()
	defer c.broker.unlock()
	for _, ch := range c.channels {
		ch.deliverMore()
	}
}

// hangUp closes the connection so that what was written arrives: closing a TCP socket with unread input resets it, and
// a reset takes the client's last frames away.
func (c *connection) hangUp() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		c.conn.SetReadDeadline(time.Now().Add(c.broker.cfg.CloseTimeout))
		io.Copy(io.Discard, io.LimitReader(c.conn, lingerBytes))
	}
	c.conn.Close()
}

// lingerBytes bounds what is read only to be thrown away.
const lingerBytes = 1 << 20
