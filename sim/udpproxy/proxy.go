package udpproxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config describes a proxy.
type Config struct {
	Listen     string        // UDP address; "" is a free port on 127.0.0.1
	Target     string        // UDP address of the router that listens; resolved once
	Delay      time.Duration // one way, both directions; 0 passes datagrams on at once
	QueueBytes int           // of delayed datagrams per flow and direction; 0 is 8 MiB: 100 ms at 640 Mbit/s
	Flows      int           // dialling addresses at a time; 0 is 64. A further one replaces the one that was silent longest
}

// Counts are datagrams and their UDP payload bytes.
type Counts struct {
	Packets, Bytes uint64 // passed on
	Dropped        uint64 // datagrams: cut, or the queue was full
}

// socketBuffer is asked of the kernel for every socket: a router sends in bursts of a congestion window. The kernel may
// give less.
const socketBuffer = 4 << 20

// Proxy is one link. Cut, Heal and the counts may be used at any time from any goroutine.
type Proxy struct {
	config Config
	target netip.AddrPort
	front  *net.UDPConn // dialling routers send to it
	down   atomic.Bool

	toTarget, fromTarget counter

	flows map[netip.AddrPort]*flow // owned by Run
}

// New opens the proxy's socket, so that its address is known; Run passes datagrams.
func New(config Config) (*Proxy, error) {
	if config.Listen == "" {
		config.Listen = "127.0.0.1:0"
	}
	if config.QueueBytes == 0 {
		config.QueueBytes = 8 << 20
	}
	if config.Flows == 0 {
		config.Flows = 64
	}
	target, err := net.ResolveUDPAddr("udp", config.Target)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	listen, err := net.ResolveUDPAddr("udp", config.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	front, err := net.ListenUDP("udp", listen)
	if err != nil {
		return nil, err
	}
	front.SetReadBuffer(socketBuffer) // less is slower, not wrong
	front.SetWriteBuffer(socketBuffer)
	return &Proxy{config: config, target: target.AddrPort(), front: front, flows: map[netip.AddrPort]*flow{}}, nil
}

// Address is where the dialling router is told to dial.
func (p *Proxy) Address() string { return p.front.LocalAddr().String() }

// Cut drops everything from now on, also what is delayed at this moment.
func (p *Proxy) Cut() { p.down.Store(true) }

// Heal passes datagrams again.
func (p *Proxy) Heal() { p.down.Store(false) }

// IsCut says whether the link is cut.
func (p *Proxy) IsCut() bool { return p.down.Load() }

// Counts gives both directions: from the dialling routers to the target, and back.
func (p *Proxy) Counts() (toTarget, fromTarget Counts) {
	return p.toTarget.counts(), p.fromTarget.counts()
}

// Run passes datagrams until ctx ends, and then closes the sockets. Its error is nil then.
func (p *Proxy) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var flows sync.WaitGroup
	defer flows.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { p.front.Close() })()
	defer p.front.Close()

	buffer := make([]byte, 65536)
	for {
		n, from, err := p.front.ReadFromUDPAddrPort(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		f, err := p.flow(ctx, from, &flows)
		if err != nil {
			return fmt.Errorf("flow of %s: %w", from, err)
		}
		f.to.pass(buffer[:n])
	}
}

// flow finds or makes the flow of a dialling address.
func (p *Proxy) flow(ctx context.Context, from netip.AddrPort, running *sync.WaitGroup) (*flow, error) {
	if f, ok := p.flows[from]; ok && f.alive() {
		f.used = time.Now()
		return f, nil
	}
	if len(p.flows) >= p.config.Flows {
		p.evict()
	}
	f, err := p.newFlow(ctx, from)
	if err != nil {
		return nil, err
	}
	p.flows[from] = f
	running.Go(f.run)
	return f, nil
}

// evict ends the flow that was silent longest.
func (p *Proxy) evict() {
	var oldest *flow
	for _, f := range p.flows {
		if oldest == nil || f.used.Before(oldest.used) {
			oldest = f
		}
	}
	oldest.cancel()
	delete(p.flows, oldest.from)
}

// counter is Counts while they change.
type counter struct{ packets, bytes, dropped atomic.Uint64 }

func (c *counter) counts() Counts {
	return Counts{Packets: c.packets.Load(), Bytes: c.bytes.Load(), Dropped: c.dropped.Load()}
}
