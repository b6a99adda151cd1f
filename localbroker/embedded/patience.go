package embedded

import (
	"net"
	"sync"
	"time"
)

// patience reads from a connection with the deadline of the moment: a fixed one during the handshake and when closing,
// else so long after now that a client which keeps its heartbeats never meets it.
type patience struct {
	conn net.Conn

	mu    sync.Mutex // the deadline is changed while a read is under way
	until time.Time  // zero: none fixed
	idle  time.Duration
}

func (p *patience) Read(b []byte) (int, error) {
	p.apply()
	return p.conn.Read(b)
}

func (p *patience) apply() {
	p.mu.Lock()
	defer p.mu.Unlock()
	deadline := p.until
	if deadline.IsZero() && p.idle > 0 {
		deadline = time.Now().Add(p.idle)
	}
	p.conn.SetReadDeadline(deadline)
}

// fix ends all reading at a time, reads under way included.
func (p *patience) fix(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = until
	p.conn.SetReadDeadline(until)
}

// relax takes the fixed deadline away, unless closing has set another.
func (p *patience) relax(fixed time.Time, heartbeat time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = 2 * heartbeat // specification 4.2.7: two intervals without any octet
	if p.until.Equal(fixed) {
		p.until = time.Time{}
	}
}
