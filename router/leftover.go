package router

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// leave is for a lane whose route is gone: the router's own queue is unbound and what is in it still taken, after a restart
// too (gone is what is remembered of the route); another's queue is left at once.
func (l *outLane) leave(ctx context.Context, gone topology.Route) error {
	l.mu.Lock()
	in := l.in
	drains := in != nil && in.detached
	detach := in != nil && !in.detached && in.route.Source.Exchange != ""
	if detach {
		in.detached = true
	}
	l.mu.Unlock()
	switch {
	case detach:
		in.consumer.SetSource(federation.Source{Queue: in.route.Source.Queue})
		return nil
	case drains:
		return nil
	}
	if err := l.stopIngest(ctx); err != nil {
		return err
	}
	l.holdNothing()
	if route, own := l.leftover(gone); own {
		return l.startIngest(route, l.r.cfg.Broker.Leftover(route.Source), true)
	}
	return nil
}

// leftover is the route of the router's own queue that may still hold messages of the lane. Of a route that nobody remembers,
// because the last good copy was lost, the queue's name is known, and it may not exist.
func (l *outLane) leftover(gone topology.Route) (topology.Route, bool) {
	if gone.Lane == l.lane || l.lane.Kind != federation.KindRoute {
		return gone, gone.Source.Exchange != ""
	}
	return topology.Route{ID: l.lane.Route, Name: string(l.lane.Route), Lane: l.lane, ClassIndex: defaultClass, MaxMessageSize: topology.MaxMessageSize,
		MaxHops: federation.MaxPath, Source: federation.Source{Queue: topology.OwnQueue(l.lane.Route)}}, true
}

// leftovers unbinds the router's own queues that routes have left for other queues; what is in them stays. Run's goroutine uses it.
type leftovers struct {
	r    *Router
	busy map[string]unbinding // by queue
}

type unbinding struct {
	stop context.CancelFunc
	done chan struct{}
}

// unbind begins once, and goes on until nothing is bound any more.
func (o *leftovers) unbind(source federation.Source) {
	if _, ok := o.busy[source.Queue]; ok {
		return
	}
	ctx, cancel := context.WithCancel(o.r.ctx)
	u := unbinding{cancel, make(chan struct{})}
	o.busy[source.Queue] = u
	o.r.start(func() {
		defer close(u.done)
		c := o.r.cfg.Broker.Leftover(source)
		err := c.Detach(ctx)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		if err = errors.Join(err, c.Close(closing)); err != nil && ctx.Err() == nil {
			o.r.log.Warn("queue not unbound", "queue", source.Queue, "err", err)
		}
	})
}

// bindAgain ends an unbinding before the queue is bound again: it would undo that later.
func (o *leftovers) bindAgain(queue string) {
	u, ok := o.busy[queue]
	if !ok {
		return
	}
	u.stop()
	<-u.done
	delete(o.busy, queue)
}

// closeGrace bounds what giving messages back to the broker may take.
const closeGrace = 5 * time.Second
