package router

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// defaultClass is the class of lanes whose route is no longer in the topology: normal.
const defaultClass = 1

// Router is the daemon of one site. New starts nothing; Run does the work.
type Router struct {
	cfg       Config
	log       *slog.Logger
	identity  spool.Identity
	owners    *owners
	leftovers leftovers
	refused   counts
	residence *residence

	// mu guards the tables. They are read by links' goroutines and by status, changed by Run's.
	mu      sync.Mutex
	links   map[federation.SiteID]Link
	replies map[Link]*replies // of every link that is up
	out     map[federation.Lane]*outLane
	in      map[inKey]*inLane
	current topology.Snapshot
	inbound map[federation.Lane]topology.Route // routes that end here, those that are gone with them
	routed  map[federation.Lane]bool           // lanes that end here of routes of the topology of now
	resting map[inKey]federation.LaneOpen      // lanes that were let go, with what their origins said of them
	ctx     context.Context                    // Run's; lanes live in it
	ending  bool                               // a clean stop has begun: no lane begins any more
	fatal   chan error                         // the first error that ends Run; capacity 1

	starting sync.Mutex     // links' goroutines start others until Run waits for them all
	over     bool           // Run waits: nothing is started any more
	group    sync.WaitGroup // lanes' and links' goroutines

	repairing chan struct{} // capacity 1: one redrive, drop or void at a time
	redriver  Publisher     // owned by who holds repairing
}

// New checks the configuration. The spool must be open; its Run is its owner's.
func New(cfg Config) (*Router, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Router{cfg: cfg, log: cfg.Logger.With("site", string(cfg.Site)), identity: cfg.Spool.Identity(), residence: newResidence(time.Now()),
		links: map[federation.SiteID]Link{}, replies: map[Link]*replies{}, out: map[federation.Lane]*outLane{}, in: map[inKey]*inLane{},
		inbound: map[federation.Lane]topology.Route{}, resting: map[inKey]federation.LaneOpen{},
		fatal: make(chan error, 1), repairing: make(chan struct{}, 1)}
	r.owners = newOwners(r)
	r.leftovers = leftovers{r: r, busy: map[string]unbinding{}}
	return r, nil
}

// Run works until the context ends, then stops cleanly: links drain, publishes are confirmed, journals are closed. Its
// error is what broke, never the context's.
func (r *Router) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	r.mu.Lock()
	r.ctx = work
	r.mu.Unlock()
	err := r.restore(work)
	if err == nil {
		err = r.work(ctx, work)
	}
	stop()
	r.starting.Lock()
	r.over = true
	r.starting.Unlock()
	r.group.Wait() // the spool is closed next, and whatever restore or a link has started uses it
	return err
}

// work runs until ctx ends, with what lives in lasting beside it, then stops cleanly.
func (r *Router) work(ctx, lasting context.Context) error {
	r.start(func() { r.owners.run(lasting) })
	r.start(func() { r.keepSpeeds(lasting) })
	err := r.follow(ctx)
	r.log.Info("stopping")
	r.stopCleanly()
	return err
}

// restore begins with what the store knows, before any topology: lanes whose batches wait still drain, and every
// owner lock that an earlier process used is asked for.
func (r *Router) restore(ctx context.Context) error {
	for key := range r.cfg.Spool.Marks(federation.MarkLane) {
		if key.Lane.Origin != r.cfg.Site {
			continue
		}
		if _, err := r.ensureOutLane(ctx, key.Lane, nil); err != nil {
			return err
		}
	}
	return r.owners.restore()
}

// start runs a goroutine that Run waits for; once Run waits it does nothing.
func (r *Router) start(f func()) {
	r.starting.Lock()
	defer r.starting.Unlock()
	if !r.over {
		r.group.Go(f)
	}
}

// fail ends Run with an error of a lane; a context's end is none.
func (r *Router) fail(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	select {
	case r.fatal <- err:
	default: // an earlier one ends Run already
	}
}

// stopCleanly stops taking, lets every lane that ends here confirm and close its journal, and drains the links.
func (r *Router) stopCleanly() {
	grace, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.cfg.StopGrace)
	defer cancel()
	r.mu.Lock()
	r.ending = true
	outs, ins := values(r.out), values(r.in)
	r.mu.Unlock()
	var closing sync.WaitGroup
	for _, l := range outs {
		closing.Go(func() {
			if err := l.stopIngest(grace); err != nil {
				r.log.Warn("taking not stopped cleanly", "lane", l.lane.String(), "err", err)
			}
		})
	}
	for _, l := range ins {
		closing.Go(func() { l.stopCleanly(grace) })
	}
	closing.Wait()
	if err := r.cfg.Peers.Drain(grace); err != nil {
		r.log.Warn("links not drained", "err", err)
	}
}

// link gives the link to a peer that is up, or nil.
func (r *Router) link(peer federation.SiteID) Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links[peer]
}

func values[K comparable, V any](m map[K]V) []V {
	out := make([]V, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}
