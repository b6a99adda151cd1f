package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// ErrExchangeMissing is what Broker.CheckExchange wraps when the broker does not know the exchange.
var ErrExchangeMissing = errors.New("the exchange does not exist")

// deliverable tells whether the place that a message goes to can be published to; otherwise the lane is held, with
// nothing taken.
func (l *inLane) deliverable(ctx context.Context, a *arrival, e *federation.Entry) bool {
	if _, skip := l.skips(a, e); skip {
		return true
	}
	dest, ok := addressOf(l.route, l.key.dest)
	if !ok {
		return l.retryLater("route "+string(l.key.lane.Route)+" is not in the topology",
			"apply a topology that has it, or abandon at the origin what is stored for this site: "+detachOf(l.key.lane, l.key.dest.Site))
	}
	exchange, _ := dest.Address(&e.Message)
	return l.exchangeReady(ctx, exchange)
}

// addressOf says where a destination's messages go at this broker. For a route that is gone that is known only for "same
// exchange and key".
func addressOf(route topology.Route, dest federation.Destination) (topology.RouteDestination, bool) {
	for _, d := range route.Destinations {
		if d.Destination == dest {
			return d, true
		}
	}
	return topology.RouteDestination{Destination: dest}, dest.Target == 0
}

// exchangeReady asks once per channel whether an exchange exists: a publish to a missing one would close the channel.
func (l *inLane) exchangeReady(ctx context.Context, name string) bool {
	if name == "" || l.channel.exchanges[name] {
		return true
	}
	declare := l.route.OnMissingExchange.Declare
	l.ask(ctx, errand{
		question: func(ctx context.Context) error { return l.r.cfg.Broker.CheckExchange(ctx, name, declare) },
		then:     func(err error) { l.exchangeChecked(name, err) },
		late: func() {
			l.hold(fmt.Sprintf("exchange %q is asked for, and the broker does not answer", name), "check the broker: cloudqueue doctor")
		},
	})
	return false
}

func (l *inLane) exchangeChecked(name string, err error) {
	switch {
	case err == nil:
		l.channel.exchanges[name] = true
	case errors.Is(err, ErrExchangeMissing):
		l.retryLater(fmt.Sprintf("exchange %q does not exist at this site's broker", name),
			"declare it, or give the route on-missing-exchange: {declare: {type: topic}}")
	default:
		l.retryLater(fmt.Sprintf("exchange %q cannot be checked: %v", name, err),
			"check the broker: cloudqueue doctor; to declare it the router needs rabbitmqctl set_permissions -p VHOST NAME '^(cq\\.|EXCHANGE$)' '.*' '.*'")
	}
}

// retryLater holds the lane and publishes nothing for a pause. It is false, as the answer of what could not be done.
func (l *inLane) retryLater(reason, fix string) bool {
	l.retry.begin(time.Now())
	l.hold(reason, fix)
	return false
}
