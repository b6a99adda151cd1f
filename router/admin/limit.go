package admin

import (
	"net"
	"sync"
)

// limited accepts while fewer than cap(places) of its connections are open. The others wait in the kernel's queue, where they take
// no descriptor of the router's.
type limited struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   *sync.Once // closes closed
}

func limit(l net.Listener, connections int) net.Listener {
	return limited{l, make(chan struct{}, connections), make(chan struct{}), new(sync.Once)}
}

// Accept waits for a place first; Close ends the wait.
func (l limited) Accept() (net.Conn, error) {
	select { // when both are ready the listener below says that it is closed
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.places
		return nil, err
	}
	return &placed{Conn: conn, places: l.places}, nil
}

func (l limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// placed is a connection that gives its place back when it is closed.
type placed struct {
	net.Conn
	once   sync.Once
	places <-chan struct{}
}

func (c *placed) Close() error {
	defer c.once.Do(func() { <-c.places })
	return c.Conn.Close()
}
