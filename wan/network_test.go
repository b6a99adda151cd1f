package wan

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// network is a datagram network in memory, for real and for virtual time: one delay, one rate into each socket, seeded loss, partitions. A packet waits at
// its receiver until it is due, so packets of one pair keep their order.
type network struct {
	mu      sync.Mutex
	delay   time.Duration
	loss    float64
	rate    int // bytes per second into each socket; 0: no limit
	random  *rand.Rand
	sockets map[string]*socket
	blocked map[[2]string]bool // by host, one way
	packets int
	targets map[string]bool // that packets were sent to
}

func newNetwork(delay time.Duration) *network {
	return &network{delay: delay, random: rand.New(rand.NewPCG(1, 2)), sockets: map[string]*socket{}, blocked: map[[2]string]bool{}, targets: map[string]bool{}}
}

// listen opens a socket at host:1000; an earlier one there must be closed.
func (n *network) listen(host string) *socket {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &socket{network: n, addr: &net.UDPAddr{IP: net.ParseIP(host).To4(), Port: 1000}, changed: make(chan struct{})}
	if n.sockets[s.addr.String()] != nil {
		panic("address in use: " + s.addr.String())
	}
	n.sockets[s.addr.String()] = s
	return s
}

// cut blocks or heals both directions between two hosts.
func (n *network) cut(a, b string, blocked bool) {
	n.cutOneWay(a, b, blocked)
	n.cutOneWay(b, a, blocked)
}

func (n *network) cutOneWay(from, to string, blocked bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocked[[2]string{from, to}] = blocked
}

func (n *network) setLoss(loss float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loss = loss
}

func (n *network) send(from *net.UDPAddr, to net.Addr, b []byte) {
	n.mu.Lock()
	n.packets++
	n.targets[to.String()] = true
	target := n.sockets[to.String()]
	lost := n.blocked[[2]string{from.IP.String(), to.(*net.UDPAddr).IP.String()}] || n.loss > 0 && n.random.Float64() < n.loss
	delay, rate := n.delay, n.rate
	n.mu.Unlock()
	if target != nil && !lost {
		target.deliver(packet{bytes: slices.Clone(b), from: from}, delay, rate)
	}
}

type packet struct {
	bytes []byte
	from  net.Addr
	due   time.Time
}

// socket is one end of the network, a net.PacketConn.
type socket struct {
	network *network
	addr    *net.UDPAddr

	mu       sync.Mutex
	queue    []packet
	busy     time.Time // until then the bottleneck is sending
	deadline time.Time
	closed   bool
	changed  chan struct{} // closed and replaced at every change
}

// maxSocket is the socket's buffer in packets.
const maxSocket = 8192

// maxWait is how much may stand before the bottleneck.
const maxWait = 50 * time.Millisecond

func (s *socket) deliver(p packet, delay time.Duration, rate int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.busy.Before(now) {
		s.busy = now
	}
	if s.closed || len(s.queue) == maxSocket || s.busy.Sub(now) > maxWait {
		return
	}
	if rate > 0 {
		s.busy = s.busy.Add(time.Duration(len(p.bytes)) * time.Second / time.Duration(rate))
	}
	p.due = s.busy.Add(delay)
	s.queue = append(s.queue, p)
	s.signal()
}

func (s *socket) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *socket) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		p, wait, changed, err := s.next()
		if err != nil {
			return 0, nil, err
		}
		if p != nil {
			return copy(b, p.bytes), p.from, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// next gives a packet that is due, or how long to wait.
func (s *socket) next() (*packet, time.Duration, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := time.Now(), time.Hour
	switch {
	case s.closed:
		return nil, 0, nil, net.ErrClosed
	case !s.deadline.IsZero() && !now.Before(s.deadline):
		return nil, 0, nil, os.ErrDeadlineExceeded
	case len(s.queue) > 0 && !s.queue[0].due.After(now):
		p := s.queue[0]
		s.queue = s.queue[1:]
		return &p, 0, nil, nil
	case len(s.queue) > 0:
		wait = s.queue[0].due.Sub(now)
	}
	if !s.deadline.IsZero() {
		wait = min(wait, s.deadline.Sub(now))
	}
	return nil, wait, s.changed, nil
}

func (s *socket) WriteTo(b []byte, to net.Addr) (int, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return 0, net.ErrClosed
	}
	s.network.send(s.addr, to, b)
	return len(b), nil
}

func (s *socket) Close() error {
	s.network.mu.Lock()
	delete(s.network.sockets, s.addr.String())
	s.network.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.signal()
	}
	return nil
}

func (s *socket) LocalAddr() net.Addr { return s.addr }

func (s *socket) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.signal()
	return nil
}

func (s *socket) SetDeadline(t time.Time) error    { return s.SetReadDeadline(t) }
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

// quic-go warns about a socket whose buffers it cannot set.
func (s *socket) SetReadBuffer(int) error  { return nil }
func (s *socket) SetWriteBuffer(int) error { return nil }

func hostAddress(host string) string { return fmt.Sprintf("%s:1000", host) }
