package router

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// deadBroker answers nothing: what asks it waits for the end of its context.
type deadBroker struct{ *fakeBroker }

func (b deadBroker) Leftover(federation.Source, ...federation.Source) Consumer {
	return deadConsumer{&fakeConsumer{}}
}

type deadConsumer struct{ *fakeConsumer }

func (deadConsumer) Detach(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
func (deadConsumer) Close(ctx context.Context) error  { <-ctx.Done(); return ctx.Err() }

// unbindingTwo are the leftovers of a router whose broker is dead, with the routes whose queues it unbinds.
func unbindingTwo(t *testing.T) (*leftovers, []topology.Route) {
	t.Helper()
	work, stop := context.WithCancel(t.Context())
	r := &Router{cfg: Config{Broker: deadBroker{newFakeBroker()}}, log: slog.New(slog.DiscardHandler), ctx: work}
	t.Cleanup(func() { stop(); r.group.Wait() })
	o := &leftovers{r: r, busy: map[string]unbinding{}}
	var routes []topology.Route
	for _, queue := range []string{"cq.out.a", "cq.out.b"} {
		source := federation.Source{Queue: queue, Exchange: "e", Keys: []string{"k"}}
		o.unbind(source, nil)
		routes = append(routes, topology.Route{Source: source})
	}
	return o, routes
}

func TestUnbindingsOfADeadBrokerEndTogetherWhenTheirRoutesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, routes := unbindingTwo(t)
		began := time.Now()

		err := o.bindAgain(t.Context(), routes)

		if took := time.Since(began); err != nil || took != closeGrace {
			t.Errorf("%v after %v, want nil after %v for both", err, took, closeGrace)
		}
	})
}

func TestWaitingForUnbindingsEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, routes := unbindingTwo(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()

		err := o.bindAgain(ctx, routes)

		if took := time.Since(began); err != context.DeadlineExceeded || took != time.Second {
			t.Errorf("%v after %v, want %v after a second", err, took, context.DeadlineExceeded)
		}
		if err := o.bindAgain(t.Context(), routes); err != nil || len(o.busy) != 0 {
			t.Errorf("%v, %d unbindings left", err, len(o.busy))
		}
	})
}
