package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The times after which a connection counts as dead. A broker that is killed shows at once; these are for one that hangs.
const (
	dialTimeout  = 10 * time.Second
	writeTimeout = 30 * time.Second
	heartbeat    = 5 * time.Second
	redialDelay  = 200 * time.Millisecond
)

// timedConn ends a write that nobody reads: the client itself would wait in it for ever.
type timedConn struct{ net.Conn }

func (c timedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// dial opens a connection, once.
func dial(url string) (*amqp.Connection, error) {
	return amqp.DialConfig(url, amqp.Config{
		Heartbeat: heartbeat,
		Dial: func(network, address string) (net.Conn, error) {
			conn, err := amqp.DefaultDial(dialTimeout)(network, address)
			if err != nil {
				return nil, err
			}
			return timedConn{conn}, nil
		},
	})
}

// keepTrying runs session on one connection after the other until it returns nil or ctx ends. When ctx ends, the error
// carries the last one of session.
func keepTrying(ctx context.Context, url string, session func(*amqp.Connection) error) error {
	for {
		err := onConnection(ctx, url, session)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(redialDelay):
		}
	}
}

// onConnection runs session on a connection that is closed when session or ctx ends.
func onConnection(ctx context.Context, url string, session func(*amqp.Connection) error) error {
	conn, err := dial(url)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close() // what it could tell, session has seen
	defer context.AfterFunc(ctx, func() { conn.CloseDeadline(time.Now().Add(time.Second)) })()
	return session(conn)
}
