package wan

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/wan/pki"

	"github.com/quic-go/quic-go"
)

// Limits of what strangers can make us hold.
const (
	// maxHalfOpen is the most connections whose handshake is not done (chosen: 100 peers that restart at once, twice
	// over; each holds some 85 KiB, 22 MiB in all, as TestHalfOpenConnectionsBeyondTheLimitAreRefusedAndMemoryStaysFlat
	// measures, and at most 6 s).
	maxHalfOpen = 256
	// maxHalfOpenHost is the same for one address, so that one host cannot take all places.
	maxHalfOpenHost = 32
	// freeInitials is the rate of first packets, per second and at once, that are answered without a proof of their
	// address; over it a Retry (RFC 9000 section 8.1.2) costs them a round trip, and those with a false address never
	// come back.
	freeInitials = 50
	// maxConnections is the most connections of one site, whatever they are doing (two are a link; the others are what
	// it dialled before we saw the old ones end).
	maxConnections = 16
	// maxStreams is the most streams that a peer may open on a connection: control, and two for each class.
	maxStreams = 1 + maxClasses*streamsPerClass
)

var errTooMany = errors.New("too many connections that are not authenticated")

// doorman bounds the connections that have not proved who they are.
type doorman struct {
	refused *tally
	failed  func(host netip.Addr, err error) // a connection ended before it was authenticated

	mu     sync.Mutex // quic-go asks from its server loop, handshakes end on their own goroutines
	open   int
	byHost map[netip.Addr]int
	tokens float64
	filled time.Time
}

func newDoorman(refused *tally, failed func(netip.Addr, error)) *doorman {
	return &doorman{refused: refused, failed: failed, byHost: map[netip.Addr]int{}, tokens: freeInitials}
}

// mustProveAddress asks for a Retry while first packets come fast or half of the places are taken.
func (d *doorman) mustProveAddress(net.Addr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if !d.filled.IsZero() {
		d.tokens = min(freeInitials, d.tokens+now.Sub(d.filled).Seconds()*freeInitials)
	}
	d.filled = now
	if d.tokens < 1 || d.open >= maxHalfOpen/2 {
		d.refused.add("unproven-address")
		return true
	}
	d.tokens--
	return false
}

// guest is a connection that came in: it has a place until it is authenticated.
type guest struct {
	leave func()
	stay  func() bool                  // its end says nothing of the handshake any more
	shown atomic.Pointer[pki.Identity] // that we used in its handshake, which ours may have replaced since
}

type guestKey struct{}

// guestOf finds it in the context of a connection that came in, which its TLS handshake has too.
func guestOf(ctx context.Context) *guest { return ctx.Value(guestKey{}).(*guest) }

// authenticated gives the place back.
func (g *guest) authenticated() {
	g.stay()
	g.leave()
}

// enter takes a place; the guest in the context leaves it at the end of the handshake, however it ends.
func (d *doorman) enter(ctx context.Context, info *quic.ClientInfo) (context.Context, error) {
	host := hostOf(info.RemoteAddr)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open >= maxHalfOpen || d.byHost[host] >= maxHalfOpenHost {
		d.refused.addOf("half-open", host.String())
		return nil, errTooMany
	}
	d.open++
	d.byHost[host]++
	g := &guest{leave: sync.OnceFunc(func() { d.left(host) })}
	g.stay = context.AfterFunc(ctx, func() {
		g.leave()
		d.failed(host, context.Cause(ctx))
	})
	return context.WithValue(ctx, guestKey{}, g), nil
}

func (d *doorman) left(host netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open--
	if d.byHost[host]--; d.byHost[host] == 0 {
		delete(d.byHost, host)
	}
}

// halfOpen is how many have a place now.
func (d *doorman) halfOpen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

func hostOf(a net.Addr) netip.Addr {
	if u, ok := a.(*net.UDPAddr); ok {
		return u.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
