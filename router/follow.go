package router

import (
	"context"
	"fmt"
	"time"

	"cloudqueue/topology"
)

// attempt is the topology that follow acts on, until all of it is in force.
type attempt struct {
	snap  topology.Snapshot
	again <-chan time.Time // when to try once more; nil: it is in force, or there is none
	pause time.Duration
	wrong string // what was wrong the last time
}

// Pauses between two attempts on one topology, doubled from the first.
const (
	firstActPause   = time.Second
	longestActPause = 30 * time.Second
)

// follow acts on each topology until the context ends or a lane breaks for good. What fails is tried again.
func (r *Router) follow(ctx context.Context) error {
	a := &attempt{}
	for {
		// Any ready order gives the same result: an end wins at the next turn at the latest, and a snapshot replaces what failed.
		select {
		case <-ctx.Done():
			return nil
		case err := <-r.fatal:
			return err
		case snap := <-r.cfg.Topology.Snapshots():
			a = &attempt{snap: snap}
			r.try(ctx, a)
		case <-a.again:
			r.try(ctx, a)
		}
	}
}

func (r *Router) try(ctx context.Context, a *attempt) {
	err := r.begin(ctx, a.snap)
	if err == nil {
		err = r.act(ctx, a.snap)
	}
	if err == nil || ctx.Err() != nil {
		a.again = nil
		return
	}
	if a.wrong != err.Error() {
		a.wrong = err.Error()
		r.log.Error("topology not acted on", "version", a.snap.Version, "err", err)
	}
	a.pause = min(max(2*a.pause, firstActPause), longestActPause)
	a.again = time.After(a.pause)
}

// begin has what the router may bind for a snapshot written down, before it binds any of it.
func (r *Router) begin(ctx context.Context, snap topology.Snapshot) error {
	err := r.cfg.Topology.Begin(ctx, snap)
	if err != nil {
		err = fmt.Errorf("write down what is to be bound: %w", err)
		r.cfg.Topology.NotApplied(snap, err)
	}
	return err
}
