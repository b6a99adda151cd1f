package wan

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"time"

	"cloudqueue/federation"
)

// dial opens connection index of link id at one address, with everything up to HELLO_ACK on both sides.
func (e *Endpoint) dial(ctx context.Context, peer federation.SiteID, to net.Addr, id uint64, index uint8) (
	*opening, error) {
	o, err := e.connect(ctx, peer, to)
	if err == nil {
		_, err = e.introduce(ctx, o, peer, id, index)
	}
	return o, err
}

// connect brings TLS up on our side; that tells nothing of what the peer thinks of us: it may still refuse our
// certificate (docs/decisions.md, M6).
func (e *Endpoint) connect(ctx context.Context, peer federation.SiteID, to net.Addr) (*opening, error) {
	ours := e.cfg.Identity()
	qc, err := e.transport.Dial(ctx, to, e.clientTLS(ours, peer, to), e.quicConfig())
	if err != nil {
		return nil, err
	}
	control, err := qc.OpenStream()
	if err != nil {
		qc.CloseWithError(0, "")
		return nil, err
	}
	control.SetPriority(urgencyControl, false)
	return newOpening(qc, ours, control), nil
}

// givenUp is told to a peer whose connection is not wanted any more.
const givenUp = "given up: another connection goes first"

// introduce is the dialling side of the hellos. After an error, and at the end of ctx, the connection is closed.
func (e *Endpoint) introduce(ctx context.Context, o *opening, peer federation.SiteID, id uint64, index uint8) (
	federation.Hello, error) {
	stop := context.AfterFunc(ctx, func() { o.close(codeDuplicate, givenUp) })
	defer stop()
	hello, err := e.sayHello(ctx, o, peer, id, index)
	if err != nil {
		o.fail(err)
	}
	return hello, err
}

func (e *Endpoint) sayHello(ctx context.Context, o *opening, peer federation.SiteID, id uint64, index uint8) (
	federation.Hello, error) {
	o.control.SetDeadline(time.Now().Add(e.cfg.HelloTimeout))
	ours := e.hello(id, index)
	if err := o.write(federation.AppendPreamble(nil, federation.StreamPreamble{Kind: federation.StreamControl}),
		ours); err != nil {
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

// resolveTimeout bounds the search for a name (chosen: as long as a handshake may take; the system's own limit may be
// 30 s).
const resolveTimeout = 3 * time.Second

// resolve gives the socket addresses behind "host:port".
func (e *Endpoint) resolve(ctx context.Context, address string) ([]candidate, error) {
	if ap, err := netip.ParseAddrPort(address); err == nil {
		return []candidate{{address, net.UDPAddrFromAddrPort(ap)}}, nil
	}
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address %q: want host:port: %w", address, err)
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	port, err := e.resolver.LookupPort(ctx, "udp", service)
	if err != nil {
		return nil, &unresolved{service, err}
	}
	hosts, err := e.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, &unresolved{host, err}
	}
	var all []candidate
	for _, h := range hosts {
		all = append(all, candidate{address, net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.Unmap(), uint16(port)))})
	}
	return all, nil
}

// unresolved is a name that has no address that we could find. It hides what it wraps: a time-out of the name service
// says nothing of the peer.
type unresolved struct {
	name string
	err  error
}

func (u *unresolved) Error() string {
	return fmt.Sprintf("the name %s does not resolve: %v", u.name, u.err)
}

// newLinkID is 64 random bits.
func newLinkID() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return binary.LittleEndian.Uint64(b[:])
}
