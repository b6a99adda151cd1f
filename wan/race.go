package wan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cloudqueue/federation"

	"github.com/quic-go/quic-go"
)

const (
	// besides is how long one address has before the next one is tried beside it (RFC 8305 section 8: 250 ms).
	besides = 250 * time.Millisecond
	// maxDials is how many are tried at once (chosen: a peer has that many addresses at most in the topology, so that
	// dead ones stand in nobody's way; a name may resolve to more).
	maxDials = 8
)

// race dials one peer at several addresses and keeps the first that takes us. Each has a head start before the next
// one, and none begins while one answers. One at a time says HELLO, so the peer never has two of our hellos to choose
// from; when it refuses, the next one may.
type race struct {
	e           *Endpoint
	entry       Peer
	id          uint64 // of the link
	established func()

	waiting  []candidate   // in their order; the loop's own
	open     int           // candidates that are tried; the loop's own
	results  chan result   // capacity maxDials: each that is tried sends one
	answered atomic.Int32  // handshakes that are through
	turn     chan struct{} // capacity 1: held by the one that says HELLO; the winner keeps it
	tasks    sync.WaitGroup
}

// candidate is an address of the topology, or one that it resolved to.
type candidate struct {
	name string
	addr net.Addr // nil: to be resolved
}

// result is what became of a candidate: more of them, a connection, or an error.
type result struct {
	found []candidate
	o     *opening
	hello federation.Hello
	err   error
}

// dialAny tries the addresses of a peer. The error is the one that says most.
func (e *Endpoint) dialAny(ctx context.Context, entry Peer, id uint64, established func()) (
	*opening, federation.Hello, error) {
	r := &race{e: e, entry: entry, id: id, established: established, results: make(chan result, maxDials),
		turn: make(chan struct{}, 1)}
	for _, name := range entry.Addresses {
		r.waiting = append(r.waiting, candidate{name: name})
	}
	ctx, cancel := context.WithCancel(ctx)
	won := r.run(ctx)
	cancel()
	r.tasks.Wait()
	close(r.results)
	for late := range r.results {
		if late.o != nil { // it won when the attempt was given up
			late.o.close(codeDuplicate, givenUp)
		}
	}
	return won.o, won.hello, won.err
}

// run gives the winner, or the error of all.
func (r *race) run(ctx context.Context) result {
	next := time.NewTimer(0)
	defer next.Stop()
	last := result{err: errors.New("it has no address")}
	for len(r.waiting) > 0 || r.open > 0 {
		// Both at once: the order only decides which candidate begins 250 ms earlier.
		select {
		case <-next.C:
			r.start(ctx)
		case got := <-r.results:
			r.open--
			if got.o != nil {
				return got
			}
			if got.err != nil {
				last.err = prefer(last.err, got.err)
			}
			r.waiting = slices.Concat(got.found, r.waiting)
			r.start(ctx)
		case <-ctx.Done():
			return result{err: prefer(last.err, ctx.Err())}
		}
		next.Reset(besides)
	}
	return last
}

// start begins with the next candidate, when there is room and nobody answers.
func (r *race) start(ctx context.Context) {
	if len(r.waiting) == 0 || r.open == maxDials || r.answered.Load() > 0 {
		return
	}
	c := r.waiting[0]
	r.waiting = r.waiting[1:]
	r.open++
	r.tasks.Go(func() { r.results <- r.try(ctx, c) })
}

func (r *race) try(ctx context.Context, c candidate) result {
	if c.addr == nil {
		found, err := r.e.resolve(ctx, c.name)
		return result{found: found, err: err}
	}
	o, hello, err := r.dial(ctx, c.addr)
	if err != nil {
		err = fmt.Errorf("dial %s: %w", c.addr, err)
	}
	return result{o: o, hello: hello, err: err}
}

// dial says HELLO when it is its turn.
func (r *race) dial(ctx context.Context, to net.Addr) (*opening, federation.Hello, error) {
	o, err := r.e.connect(ctx, r.entry.Site, to)
	if err != nil {
		return nil, federation.Hello{}, err
	}
	r.answered.Add(1)
	defer r.answered.Add(-1)
	r.established()
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		o.close(codeDuplicate, givenUp)
		return nil, federation.Hello{}, ctx.Err()
	case <-o.qc.Context().Done():
		return nil, federation.Hello{}, context.Cause(o.qc.Context())
	}
	hello, err := r.e.introduce(ctx, o, r.entry.Site, r.id, 0)
	if err != nil {
		<-r.turn
		return nil, federation.Hello{}, err
	}
	return o, hello, nil
}

// prefer keeps what the peer said, and then a name that is wrong, over a word that nobody answered.
func prefer(last, err error) error {
	var r *refusal
	var transport *quic.TransportError
	var name *unresolved
	if errors.As(last, &r) || errors.As(last, &transport) || errors.As(last, &name) && unanswered(err) {
		return last
	}
	return err
}
