package udpproxy

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// flow is one dialling address with the socket through which the target sees it.
type flow struct {
	from    netip.AddrPort
	used    time.Time    // when its last datagram came; owned by Proxy.Run
	back    *net.UDPConn // connected to the target
	to, fro *direction
	ctx     context.Context // ends with the flow
	cancel  context.CancelFunc
}

func (p *Proxy) newFlow(ctx context.Context, from netip.AddrPort) (*flow, error) {
	back, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(p.target))
	if err != nil {
		return nil, err
	}
	back.SetReadBuffer(socketBuffer) // less is slower, not wrong
	back.SetWriteBuffer(socketBuffer)
	f := &flow{from: from, used: time.Now(), back: back}
	f.ctx, f.cancel = context.WithCancel(ctx)
	f.to = p.direction(&p.toTarget, func(b []byte) { back.Write(b) })
	f.fro = p.direction(&p.fromTarget, func(b []byte) { p.front.WriteToUDPAddrPort(b, from) })
	return f, nil
}

// alive says whether the flow still passes datagrams.
func (f *flow) alive() bool { return f.ctx.Err() == nil }

// run passes what comes from the target, and what waits in both directions, until the flow's context ends.
func (f *flow) run() {
	var waiting sync.WaitGroup
	waiting.Go(func() { f.to.release(f.ctx) })
	waiting.Go(func() { f.fro.release(f.ctx) })
	defer waiting.Wait()
	defer f.cancel()
	defer context.AfterFunc(f.ctx, func() { f.back.Close() })()

	buffer := make([]byte, 65536)
	for f.alive() {
		n, err := f.back.Read(buffer)
		if err != nil {
			continue // the target's port is closed just then (ECONNREFUSED), or the flow's end, which the loop sees
		}
		f.fro.pass(buffer[:n])
	}
}

// direction is one way of a flow. pass is for one goroutine, release for another.
type direction struct {
	isCut   func() bool
	delay   time.Duration
	limit   int
	counter *counter
	send    func([]byte) // an error is a lost datagram: the network may do that

	mu     sync.Mutex // guards queue and bytes, which pass and release share
	queue  []delayed
	bytes  int
	arrive chan struct{} // capacity 1: the queue is not empty
}

// delayed is a datagram that is sent when its time has come.
type delayed struct {
	at   time.Time
	data []byte
}

func (p *Proxy) direction(c *counter, send func([]byte)) *direction {
	return &direction{isCut: p.IsCut, delay: p.config.Delay, limit: p.config.QueueBytes, counter: c, send: send, arrive: make(chan struct{}, 1)}
}

// pass sends a datagram now, or queues a copy of it.
func (d *direction) pass(b []byte) {
	switch {
	case d.delay <= 0:
		d.sendNow(b)
	case d.isCut() || !d.enqueue(b):
		d.counter.dropped.Add(1)
	}
}

func (d *direction) sendNow(b []byte) {
	if d.isCut() {
		d.counter.dropped.Add(1)
		return
	}
	d.send(b)
	d.counter.packets.Add(1)
	d.counter.bytes.Add(uint64(len(b)))
}

// enqueue says whether there was room.
func (d *direction) enqueue(b []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bytes+len(b) > d.limit {
		return false
	}
	d.bytes += len(b)
	d.queue = append(d.queue, delayed{at: time.Now().Add(d.delay), data: append([]byte(nil), b...)})
	select {
	case d.arrive <- struct{}{}:
	default: // it is said already
	}
	return true
}

// release sends what was queued when its time comes, until ctx ends.
func (d *direction) release(ctx context.Context) {
	for {
		next, ok := d.dequeue()
		if !ok {
			select {
			case <-d.arrive:
				continue
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-time.After(time.Until(next.at)):
			d.sendNow(next.data)
		case <-ctx.Done():
			return
		}
	}
}

func (d *direction) dequeue() (delayed, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return delayed{}, false
	}
	next := d.queue[0]
	d.queue[0] = delayed{} // lets go of its bytes
	d.queue = d.queue[1:]
	d.bytes -= len(next.data)
	return next, true
}
