package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// tcpProxy passes connections to a target and counts the bytes of both directions.
type tcpProxy struct {
	listener net.Listener
	target   string
	bytes    atomic.Uint64
	running  sync.WaitGroup

	mu    sync.Mutex // guards conns, which serve fills and close empties
	conns []net.Conn
}

func newTCPProxy(target string) (*tcpProxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &tcpProxy{listener: listener, target: target}
	p.running.Go(p.serve)
	return p, nil
}

func (p *tcpProxy) address() string { return p.listener.Addr().String() }

// close ends the listener and every connection, and waits for both.
func (p *tcpProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *tcpProxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.running.Go(func() { p.pass(far, near) })
		p.running.Go(func() { p.pass(near, far) })
	}
}

// pass copies one direction and ends both at its end.
func (p *tcpProxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	io.Copy(counting{to, &p.bytes}, from) // its error is the connection's end
}

// counting counts what is written. It is no io.ReaderFrom, so that the copy is not left to the kernel uncounted.
type counting struct {
	w     io.Writer
	bytes *atomic.Uint64
}

func (c counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.bytes.Add(uint64(n))
	return n, err
}
