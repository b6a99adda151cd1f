package main

import (
	"context"
	"fmt"
	"strings"

	"cloudqueue/sim/parts"
)

// The bridges. direct is none: the consumer reads at a, so that the others' latencies can be taken above it. Cloudqueue runs in the shape of
// each of the others: exchange to exchange as Federation, queue to queue as Shovel, which spares the destination's broker the routing.
const (
	direct     = "direct"
	cloudqueue = "cloudqueue"
	queues     = "cloudqueue-queues"
	shovel     = "shovel"
	federation = "federation"
)

// bridge is a running one.
type bridge struct {
	consumeAt *parts.RabbitMQ
	queue     string
	processes map[string]*parts.Process // whose CPU time counts, by name
	bytes     func() uint64             // between the sites so far
	stop      func(context.Context) error
}

// bridge sets one up and returns when messages pass.
func (l *lab) bridge(ctx context.Context, name string, o options) (*bridge, error) {
	switch name {
	case direct:
		return l.direct()
	case shovel:
		return l.shovel(ctx)
	case federation:
		return l.federation(ctx)
	case cloudqueue:
		return l.cloudqueue(ctx, o.router, false)
	case queues:
		return l.cloudqueue(ctx, o.router, true)
	}
	return nil, fmt.Errorf("no bridge is named %q: direct, cloudqueue, cloudqueue-queues, shovel or federation", name)
}

// between is a bridge from a to b over a TCP connection.
func (l *lab) between(proxy *tcpProxy, stop func(context.Context) error) *bridge {
	return &bridge{
		consumeAt: l.b,
		queue:     inQueue,
		processes: map[string]*parts.Process{"broker a": l.a.Process(), "broker b": l.b.Process()},
		bytes:     proxy.bytes.Load,
		stop: func(ctx context.Context) error {
			defer proxy.close()
			return stop(ctx)
		},
	}
}

func (l *lab) direct() (*bridge, error) {
	if err := l.declare(true); err != nil {
		return nil, err
	}
	return &bridge{
		consumeAt: l.a,
		queue:     outQueue,
		processes: map[string]*parts.Process{"broker a": l.a.Process()},
		bytes:     func() uint64 { return 0 },
		stop:      func(context.Context) error { return nil },
	}, nil
}

// shovel pushes from a queue at a to a queue at b; on-confirm acknowledges at a what b confirmed. The prefetch of 10,000
// is faster than the default of 1,000 (decisions.md, M10, was measured with it).
func (l *lab) shovel(ctx context.Context) (*bridge, error) {
	if err := l.declare(true); err != nil {
		return nil, err
	}
	proxy, err := newTCPProxy(l.b.Address())
	if err != nil {
		return nil, err
	}
	definition := fmt.Sprintf(`{"src-protocol":"amqp091","src-uri":"amqp://","src-queue":%q,"src-prefetch-count":10000,`+
		`"dest-protocol":"amqp091","dest-uri":"amqp://guest:guest@%s","dest-queue":%q,"ack-mode":"on-confirm","reconnect-delay":1}`, outQueue, proxy.address(), inQueue)
	if _, err := l.a.Control(ctx, "set_parameter", "shovel", "bench", definition); err != nil {
		proxy.close()
		return nil, err
	}
	b := l.between(proxy, func(ctx context.Context) error {
		_, err := l.a.Control(ctx, "clear_parameter", "shovel", "bench")
		return err
	})
	return b, waitFor(ctx, "the shovel to consume", func() (bool, error) { return hasConsumer(l.a.URL(), outQueue) })
}

// federation makes the exchange at b an extension of the one at a.
func (l *lab) federation(ctx context.Context) (*bridge, error) {
	if err := l.declare(false); err != nil {
		return nil, err
	}
	proxy, err := newTCPProxy(l.a.Address())
	if err != nil {
		return nil, err
	}
	upstream := fmt.Sprintf(`{"uri":"amqp://guest:guest@%s","prefetch-count":10000,"ack-mode":"on-confirm","reconnect-delay":1}`, proxy.address())
	for _, command := range [][]string{
		{"set_parameter", "federation-upstream", "bench", upstream},
		{"set_policy", "--apply-to", "exchanges", "bench", "^" + exchange + "$", `{"federation-upstream-set":"all"}`},
	} {
		if _, err := l.b.Control(ctx, command...); err != nil {
			proxy.close()
			return nil, err
		}
	}
	b := l.between(proxy, func(ctx context.Context) error {
		if _, err := l.b.Control(ctx, "clear_policy", "bench"); err != nil {
			return err
		}
		_, err := l.b.Control(ctx, "clear_parameter", "federation-upstream", "bench")
		return err
	})
	return b, waitFor(ctx, "the federation link", func() (bool, error) { return l.linked(ctx) })
}

// linked says whether the federation link consumes its queue at a, whose name begins with "federation: ".
func (l *lab) linked(ctx context.Context) (bool, error) {
	queues, err := l.a.Control(ctx, "list_queues", "--no-table-headers", "name", "consumers")
	for _, line := range strings.Split(queues, "\n") {
		if strings.HasPrefix(line, "federation: ") && strings.HasSuffix(line, "\t1") {
			return true, nil
		}
	}
	return false, err
}
