package localbroker

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// stallConn gives every read and write of a socket a deadline. It sits below TLS, so that a write which only waits for
// an alarm to end can be continued: after a time-out of its own writes TLS never works again.
type stallConn struct {
	net.Conn
	timeout time.Duration
	excused func() bool // whether the peer has said that it does not read
	idle    func() time.Duration
}

// Write is an error when the socket takes nothing for the timeout, unless the peer is excused.
func (c *stallConn) Write(p []byte) (int, error) {
	written := 0
	for {
		if err := c.Conn.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 && !c.excused() {
			return written, c.explain(err)
		}
	}
}

func (c *stallConn) explain(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the broker's socket took nothing for %v: %w", c.timeout, err)
	}
	return err
}

// Read is an error when nothing comes for longer than heartbeats allow.
func (c *stallConn) Read(p []byte) (int, error) {
	idle := c.idle()
	if err := c.Conn.SetReadDeadline(time.Now().Add(idle)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the broker was silent for %v: %w", idle, err)
	}
	return n, err
}
