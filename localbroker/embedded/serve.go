package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// ErrClosed is what Serve returns once the broker is closed.
var ErrClosed = errors.New("the broker is closed")

// Serve accepts connections until ctx ends or the broker is closed, and then ends those it accepted, as ServeConn does.
// It closes l. The error is ctx's, ErrClosed, or the listener's.
func (b *Broker) Serve(ctx context.Context, l net.Listener) error {
	serving, stop := context.WithCancel(ctx)
	defer context.AfterFunc(b.life, stop)()
	defer context.AfterFunc(serving, func() { l.Close() })()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer l.Close()
	defer stop()
	for {
		conn, err := accept(serving, l)
		if err != nil {
			return b.whyStopped(ctx, err)
		}
		conns.Go(func() { b.ServeConn(serving, conn) })
	}
}

// accept waits out errors that pass, such as too many open files.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		conn, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return conn, err
		}
		if errno := syscall.Errno(0); !errors.As(err, &errno) || !errno.Temporary() {
			return nil, err
		}
		select { // the next Accept finds out which it was
		case <-time.After(delay):
		case <-ctx.Done():
		}
	}
}

func (b *Broker) whyStopped(ctx context.Context, err error) error {
	switch {
	case b.life.Err() != nil:
		return ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("accept: %w", err)
}

// ServeConn serves one connection until the client closes it, breaks the protocol or goes silent, or ctx ends or the
// broker is closed: then the client is told (320, connection forced) and has the close timeout to answer. It closes
// conn, which may be any net.Conn with working deadlines (net.Pipe is one). No goroutine of it is left when it returns.
func (b *Broker) ServeConn(ctx context.Context, conn net.Conn) {
	c := newConnection(b, conn)
	if !b.register(c) {
		conn.Close()
		return
	}
	defer b.forget(c)
	defer context.AfterFunc(ctx, func() { c.leave(shutdown()) })()
	c.serve()
}

// register is false when the broker is closed or too many clients have not finished their handshake.
func (b *Broker) register(c *connection) bool {
	b.mu.Lock()
	defer b.unlock()
	if b.life.Err() != nil || len(b.connections)-b.open >= b.limits.Handshakes {
		b.counters.RefusedConnections++
		return false
	}
	b.lastID++
	c.id = b.lastID
	b.connections[c.id] = c
	return true
}

func (b *Broker) forget(c *connection) {
	b.mu.Lock()
	defer b.unlock()
	delete(b.connections, c.id)
	if c.opened {
		b.open--
	}
	close(c.done)
}
