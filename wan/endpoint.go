package wan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

// Endpoint is a site's end of all its links, on one UDP socket.
type Endpoint struct {
	cfg       Config
	logger    *slog.Logger
	socket    net.PacketConn
	transport *quic.Transport
	resolver  *net.Resolver
	close     func() error // of the socket, once
	refused   tally
	doorman   *doorman
	draining  atomic.Bool   // no new links
	changed   chan struct{} // capacity 1: the set of peers is another one

	mu      sync.Mutex // SetPeers, Status and connections that come in meet here
	peers   map[federation.SiteID]*peer
	leaving map[federation.SiteID]*Link // of peers that were removed: the last link, until it has ended
	sites   map[federation.SiteID]int   // accepted connections by site

	tasks sync.WaitGroup // accepted connections and dial loops
}

// New checks the configuration and opens the socket. It starts nothing. The error lists everything that is wrong. An
// Endpoint that is not Run is to be Closed.
func New(cfg Config) (*Endpoint, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.fill()
	e := &Endpoint{cfg: cfg, logger: cfg.Logger, socket: cfg.Conn, resolver: net.DefaultResolver,
		changed: make(chan struct{}, 1), peers: map[federation.SiteID]*peer{},
		leaving: map[federation.SiteID]*Link{}, sites: map[federation.SiteID]int{}}
	e.doorman = newDoorman(&e.refused, e.handshakeFailed)
	if e.socket == nil {
		socket, err := net.ListenPacket("udp", cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen on %q: %w", cfg.Listen, err)
		}
		e.socket = socket
	}
	e.close = sync.OnceValue(e.socket.Close)
	e.transport = e.newTransport()
	return e, nil
}

// Addr is the address of the socket.
func (e *Endpoint) Addr() net.Addr { return e.socket.LocalAddr() }

// Close closes the socket; it is the last thing that Run does. More than once does no harm.
func (e *Endpoint) Close() error { return e.close() }

// Run accepts, dials and keeps the links until ctx ends, then closes them; it returns nil then, and an error when the
// socket fails. To stop without losing what is on its way, call Drain before. It is called once.
func (e *Endpoint) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// last: quic-go's transport, which still says goodbye in its Close, leaves a socket that it was given open
	defer e.close()
	listener, err := e.transport.Listen(e.serverTLS(), e.quicConfig())
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	var accepted error
	e.tasks.Go(func() {
		accepted = e.accept(ctx, listener)
		cancel()
	})
	e.tasks.Go(func() { e.countGarbage(ctx, e.transport) })
	for e.startDialling(); ctx.Err() == nil; e.startDialling() {
		select {
		case <-e.changed:
		case <-ctx.Done():
		}
	}
	e.draining.Store(true)
	for _, p := range e.all() {
		p.cancel()
	}
	listener.Close()
	e.tasks.Wait()
	return errors.Join(accepted, e.transport.Close())
}

// startDialling starts the dial loops of peers that have none yet.
func (e *Endpoint) startDialling() {
	for _, p := range e.all() {
		if !p.started {
			p.started = true
			e.tasks.Go(p.run)
		}
	}
}

// SetPeers replaces the set of peers. The links of those that are not in it any more are closed; a peer that is added
// again is linked when its link of before is down. It may be called at any time.
func (e *Endpoint) SetPeers(peers []Peer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.leaving, func(_ federation.SiteID, l *Link) bool { return l.over() })
	keep := map[federation.SiteID]bool{}
	for _, entry := range peers {
		if keep[entry.Site] = true; e.peers[entry.Site] != nil {
			e.peers[entry.Site].set(entry)
		} else {
			e.peers[entry.Site] = newPeer(e, entry, e.leaving[entry.Site])
		}
	}
	for site, p := range e.peers {
		if !keep[site] {
			delete(e.peers, site)
			p.cancel() // no link comes up from here on
			if l := p.current(); l != nil {
				e.leaving[site] = l
			}
		}
	}
	poke(e.changed)
}

// Drain lets no new link come up and drains those that are up, at the same time; see Link.Drain. It is for the stop of
// the router: nothing takes it back.
func (e *Endpoint) Drain(ctx context.Context) error {
	e.draining.Store(true)
	var tasks sync.WaitGroup
	all := e.all()
	failed := make([]error, len(all))
	for i, p := range all {
		if l := p.current(); l != nil {
			tasks.Go(func() {
				if err := l.Drain(ctx); err != nil {
					failed[i] = fmt.Errorf("drain the link to %s: %w", p.site, err)
				}
			})
		}
	}
	tasks.Wait()
	return errors.Join(failed...)
}

func (e *Endpoint) all() []*peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.peers), func(a, b *peer) int {
		if a.site < b.site {
			return -1
		}
		return 1
	})
}

func (e *Endpoint) peer(site federation.SiteID) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.peers[site]
}

func (e *Endpoint) enterSite(site federation.SiteID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sites[site] >= maxConnections {
		return false
	}
	e.sites[site]++
	return true
}

func (e *Endpoint) leaveSite(site federation.SiteID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.sites[site]--; e.sites[site] == 0 {
		delete(e.sites, site)
	}
}

// pause is how long to wait after the nth failure in a row: full jitter, the bound doubling from RedialMin to
// RedialMax. Sites that lost the same path then do not come back in step.
func (e *Endpoint) pause(failures int) time.Duration {
	bound := e.cfg.RedialMax
	if doublings := failures - 1; doublings < 16 {
		bound = min(bound, e.cfg.RedialMin<<doublings)
	}
	return rand.N(bound + 1)
}
