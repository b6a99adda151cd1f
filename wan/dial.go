package wan

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// dial opens connection index of link id to one address, with everything up to HELLO_ACK on both sides.
// established is called when TLS is through on our side; it tells nothing of what the peer thinks of us (docs/decisions.md, M6).
func (e *Endpoint) dial(ctx context.Context, peer federation.SiteID, to net.Addr, id uint64, index uint8, established func()) (*opening, federation.Hello, error) {
	ours := e.cfg.Identity()
	qc, err := e.transport.Dial(ctx, to, clientTLS(ours, peer), e.quicConfig())
	if err != nil {
		return nil, federation.Hello{}, err
	}
	established()
	stop := context.AfterFunc(ctx, func() { qc.CloseWithError(0, "given up") })
	defer stop()
	control, err := qc.OpenStream()
	if err != nil {
		qc.CloseWithError(0, "")
		return nil, federation.Hello{}, err
	}
	control.SetPriority(urgencyControl, false)
	o := newOpening(qc, ours, control)
	theirs, err := e.introduce(ctx, o, peer, id, index)
	if err != nil {
		o.fail(err)
		return nil, federation.Hello{}, err
	}
	return o, theirs, nil
}

// introduce is the dialling side of the hellos.
func (e *Endpoint) introduce(ctx context.Context, o *opening, peer federation.SiteID, id uint64, index uint8) (federation.Hello, error) {
	o.control.SetDeadline(time.Now().Add(e.cfg.HelloTimeout))
	ours := e.hello(id, index)
	if err := o.write(federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}), ours); err != nil {
		return federation.Hello{}, o.cause(err)
	}
	ack, err := read[federation.HelloAck](o)
	if err != nil {
		return federation.Hello{}, err
	}
	if ack.Verdict != federation.OK {
		return federation.Hello{}, refusedBy(ack)
	}
	r := e.checkHello(ack.Hello, peer)
	if r == nil {
		r = e.greet(ctx, ack.Hello)
	}
	if r != nil {
		e.refuseHello(r, peer, o.remote())
		o.refuse(ctx, ours, r)
		return federation.Hello{}, r
	}
	o.control.SetDeadline(time.Now().Add(e.cfg.HelloTimeout))
	if err := o.write(nil, federation.HelloAck{Hello: ours, Verdict: federation.OK}); err != nil {
		return federation.Hello{}, o.cause(err)
	}
	return ack.Hello, o.control.SetDeadline(time.Time{})
}

// resolve gives the socket addresses behind "host:port".
func resolve(ctx context.Context, address string) ([]net.Addr, error) {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return []net.Addr{net.UDPAddrFromAddrPort(ap)}, nil
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: want host:port: %w", address, err)
	}
	port, err := net.DefaultResolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, err
	}
	hosts, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var all []net.Addr
	for _, h := range hosts {
		all = append(all, net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Unmap(), uint16(port))))
	}
	return all, nil
}

// dialAny tries the addresses in order. The error is the one that says most.
func (e *Endpoint) dialAny(ctx context.Context, p Peer, id uint64, established func()) (*opening, federation.Hello, error) {
	var last error
	for _, address := range p.Addresses {
		targets, err := resolve(ctx, address)
		if err != nil {
			last = prefer(last, err)
		}
		for _, to := range targets {
			o, hello, err := e.dial(ctx, p.Site, to, id, 0, established)
			if err == nil {
				return o, hello, nil
			}
			last = prefer(last, fmt.Errorf("dial %s: %w", to, err))
			if ctx.Err() != nil {
				return nil, federation.Hello{}, last
			}
		}
	}
	return nil, federation.Hello{}, last
}

// prefer keeps an error that came from the peer over one that only says that nobody answered.
func prefer(last, err error) error {
	var r *refusal
	var transport *quic.TransportError
	if errors.As(last, &r) || errors.As(last, &transport) {
		return last
	}
	return err
}

// newLinkID is 64 random bits.
func newLinkID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return binary.LittleEndian.Uint64(b[:])
}
