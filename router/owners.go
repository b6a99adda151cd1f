package router

import (
	"context"
	"fmt"
	"sync"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// owners hands out the publishing channels of this site, each with its owner lock (design 6.2).
//
// A process holds every lock that an earlier one used before it reads a journal or publishes on any: only then has the
// broker ended the earlier process's channels, whose late publishes would come behind ours. Lock 0 is always taken, so
// that two processes with different stores on one broker exclude each other too.
type owners struct {
	r *Router

	mu      sync.Mutex
	highest uint32   // the highest index whose use is durable
	free    []uint32 // taken before and not bound to a lane now
	pubs    map[uint32]Publisher
	all     chan struct{} // closed when every lock up to the restored highest is held
	growing chan struct{} // capacity 1: one mark at a time, so that the highest is the last one written
}

func newOwners(r *Router) *owners {
	return &owners{r: r, pubs: map[uint32]Publisher{}, all: make(chan struct{}), growing: make(chan struct{}, 1)}
}

// restore reads how many locks were ever used.
func (o *owners) restore() error {
	value, ok := o.r.cfg.Spool.Mark(federation.MarkKey{Kind: federation.MarkOwner})
	if ok {
		m, err := federation.ParseOwnerMark(value)
		if err != nil {
			return fmt.Errorf("owner locks: %w", err)
		}
		o.highest = m.Highest
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.highest + 1 {
		o.pubs[i] = o.r.cfg.Broker.Publisher(i)
		o.free = append(o.free, i)
	}
	return nil
}

// run takes every lock once, all at the same time, and tells when all are held. Later each lane keeps its own.
func (o *owners) run(ctx context.Context) {
	o.mu.Lock()
	pubs := values(o.pubs)
	o.mu.Unlock()
	var taking sync.WaitGroup
	held := make(chan bool, len(pubs))
	for _, p := range pubs {
		taking.Go(func() {
			_, err := p.Acquire(ctx, false)
			held <- err == nil
		})
	}
	taking.Wait()
	for range pubs {
		if !<-held {
			return // the context ended
		}
	}
	o.r.log.Info("owner locks held", "locks", len(pubs))
	close(o.all)
}

// take gives a lane its publisher once every lock is held. The index is durable before the first use.
func (o *owners) take(ctx context.Context) (Publisher, error) {
	select {
	case <-o.all:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p := o.takeFree(); p != nil {
		return p, nil
	}
	select {
	case o.growing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-o.growing }()
	return o.grow(ctx)
}

// grow begins to use one more lock; the mark is durable before anyone publishes under it.
func (o *owners) grow(ctx context.Context) (Publisher, error) {
	o.mu.Lock()
	i := o.highest + 1
	o.mu.Unlock()
	mark := spool.MarkRecord{Key: federation.MarkKey{Kind: federation.MarkOwner}, Value: federation.OwnerMark{Highest: i}.Encode()}
	if err := o.r.submit(ctx, mark); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.r.cfg.Broker.Publisher(i)
	o.highest, o.pubs[i] = i, p
	return p, nil
}

// giveBack takes a publisher that a lane has left, with nothing of it unconfirmed.
func (o *owners) giveBack(p Publisher) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, known := range o.pubs {
		if known == p {
			o.free = append(o.free, i)
		}
	}
}

func (o *owners) takeFree() Publisher {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.free) == 0 {
		return nil
	}
	i := o.free[0]
	o.free = o.free[1:]
	return o.pubs[i]
}

// state tells what the locks wait for; nil when all are held.
func (o *owners) state() *federation.PartState {
	select {
	case <-o.all:
		return nil
	default:
	}
	o.mu.Lock()
	pubs := values(o.pubs)
	o.mu.Unlock()
	for _, p := range pubs {
		if s := p.State(); s.State != federation.StateRunning {
			return &s
		}
	}
	return &federation.PartState{State: "waiting", Reason: "owner locks are being taken"}
}
