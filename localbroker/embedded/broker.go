package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ErrClosed is what Serve and ServeConn return once the broker is closed.
var ErrClosed = errors.New("the broker is closed")

// Broker is an AMQP 0-9-1 broker with one virtual host, in memory. Make it with New.
type Broker struct {
	cfg    Config
	limits Limits
	users  map[string]User
	vhost  string
	log    *slog.Logger
	raised atomic.Bool     // the alarm, for readers that look at every message
	life   context.Context // ends with Close
	end    context.CancelFunc

	// mu guards all below and the exchanges, queues and consumers that hang on it. One lock for all: a routing touches several
	// queues, a queue several connections, and nothing waits under it. Always released by unlock.
	mu          sync.Mutex
	exchanges   map[string]*exchange
	queues      map[string]*queue
	replies     map[string]*consumer // direct reply-to consumers by routing key
	connections map[uint64]*connection
	lastID      uint64
	bindings    int
	held        int64 // bytes that messages cost
	alarm       alarm
	counters    Counters
	open        int     // connections that have finished their handshake
	deaths      []death // messages to dead-letter before unlock
	routing     routing // scratch
	routings    uint64
}

// New makes a broker. It does nothing until a connection is served.
func New(cfg Config) *Broker {
	cfg = cfg.withDefaults()
	b := &Broker{
		cfg:         cfg,
		limits:      cfg.Limits,
		users:       cfg.Users,
		vhost:       cfg.VHost,
		log:         cfg.Logger,
		exchanges:   map[string]*exchange{},
		queues:      map[string]*queue{},
		replies:     map[string]*consumer{},
		connections: map[uint64]*connection{},
	}
	b.life, b.end = context.WithCancel(context.Background())
	b.predeclare()
	return b
}

// unlock finishes what an operation has left behind, dead letters, and releases mu.
func (b *Broker) unlock() {
	for len(b.deaths) > 0 {
		deaths := b.deaths
		b.deaths = nil
		for _, d := range deaths {
			b.bury(d)
		}
	}
	b.mu.Unlock()
}

// Serve accepts connections until ctx ends or the broker is closed, and then ends those it accepted, as ServeConn does. It
// closes l. The error is ctx's, ErrClosed, or the listener's.
func (b *Broker) Serve(ctx context.Context, l net.Listener) error {
	serving, stop := context.WithCancel(ctx)
	defer context.AfterFunc(b.life, stop)()
	defer context.AfterFunc(serving, func() { l.Close() })()
	var conns sync.WaitGroup
	defer conns.Wait()
	defer stop()
	for {
		conn, err := accept(serving, l)
		if err != nil {
			return b.whyStopped(ctx, err)
		}
		conns.Go(func() { b.ServeConn(ctx, conn) })
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

// ServeConn serves one connection until the client closes it, breaks the protocol or goes silent, or ctx ends or the broker
// is closed: then the client is told (320, connection forced) and has the close timeout to answer. It closes conn, which may
// be any net.Conn with working deadlines (net.Pipe is one). Nothing of it runs on after it returns.
func (b *Broker) ServeConn(ctx context.Context, conn net.Conn) {
	c := newConnection(b, conn)
	if !b.register(c) {
		conn.Close()
		return
	}
	defer b.forget(c)
	stop := func() {
		c.leave(fail(replyConnectionForced, "broker forced connection closure with reason 'shutdown'"))
	}
	defer context.AfterFunc(ctx, stop)()
	defer context.AfterFunc(b.life, stop)()
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

// Close ends every connection as ServeConn does when its ctx ends, and drops all messages. When ctx ends first, what is left
// is cut off. After it the broker serves nothing; a second call does nothing.
func (b *Broker) Close(ctx context.Context) error {
	b.end()
	left := b.everyConnection()
	for _, c := range left {
		c.leave(shutdown())
	}
	b.deleteQueues()
	for _, c := range left {
		select { // done and ctx at once: cutting an ended connection does nothing
		case <-c.done:
		case <-ctx.Done():
			c.cut()
			<-c.done
		}
	}
	return ctx.Err()
}

func shutdown() *exception {
	return fail(replyConnectionForced, "broker forced connection closure with reason 'shutdown'")
}

func (b *Broker) everyConnection() []*connection {
	b.mu.Lock()
	defer b.unlock()
	return slices.Collect(maps.Values(b.connections))
}

// deleteQueues stops every timer of the broker.
func (b *Broker) deleteQueues() {
	b.mu.Lock()
	defer b.unlock()
	for _, q := range b.queues {
		q.delete()
	}
}
