package router

import (
	"context"
	"errors"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// leave is for a lane whose route is gone: the router's own queue is unbound and what is in it still taken, after a restart
// too (gone is what is remembered of the route, left of bindings by queue); another's queue is left at once.
func (l *outLane) leave(ctx context.Context, gone topology.Route, left map[string][]federation.Source) error {
	l.mu.Lock()
	in := l.in
	drains := in != nil && (in.detached || in.route.Source.Exchange != "")
	if drains {
		in.detached = true
	}
	l.mu.Unlock()
	if drains {
		queue := in.route.Source.Queue
		in.consumer.SetSource(federation.Source{Queue: queue}, left[queue]...)
		return nil
	}
	if err := l.stopIngest(ctx); err != nil {
		return err
	}
	l.holdNothing()
	if route, own := l.leftover(gone); own {
		return l.startIngest(route, l.r.cfg.Broker.Leftover(route.Source, left[route.Source.Queue]...), true)
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
func (o *leftovers) unbind(source federation.Source, left []federation.Source) {
	if _, ok := o.busy[source.Queue]; ok {
		return
	}
	ctx, cancel := context.WithCancel(o.r.ctx)
	u := unbinding{cancel, make(chan struct{})}
	o.busy[source.Queue] = u
	o.r.start(func() {
		defer close(u.done)
		c := o.r.cfg.Broker.Leftover(source, left...)
		err := c.Detach(ctx)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		if err = errors.Join(err, c.Close(closing)); err != nil && ctx.Err() == nil {
			o.r.log.Warn("queue not unbound", "queue", source.Queue, "err", err)
		}
	})
}

// bindAgain ends the unbinding of the queues that routes take from: it would undo what they bind. All are stopped before one is
// waited for. Its error is the context's; they are still stopping then.
func (o *leftovers) bindAgain(ctx context.Context, routes []topology.Route) error {
	var wanted []string
	for _, route := range routes {
		if u, ok := o.busy[route.Source.Queue]; ok {
			u.stop()
			wanted = append(wanted, route.Source.Queue)
		}
	}
	for _, queue := range wanted {
		select {
		case <-o.busy[queue].done:
			delete(o.busy, queue)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// closeGrace bounds what giving messages back to the broker may take.
const closeGrace = 5 * time.Second
