package localbroker

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// rights asks the broker for the permissions that the router needs, by calls that change nothing that anybody else
// sees: a queue of its own, exclusive to this connection, and taking away bindings that never were.
//
//	queue.declare    cq.doctor.RANDOM                                configure on cq.*
//	basic.get        cq.doctor.RANDOM                                read on cq.*
//	queue.unbind     cq.doctor.RANDOM from a source's exchange       write on cq.*, read on that exchange
//	exchange.unbind  a destination's exchange from amq.headers       write on that exchange
//
// RabbitMQ checks the permissions before it looks for the binding, the destination's first, and takes a binding that is
// not there for taken away (rabbit_channel, binding_action). Publishing would ask the same of an exchange, and could be
// seen: a fanout exchange delivers whatever its key is.
func (i *inspection) rights(ctx context.Context, wish Wish) {
	name := "cq.doctor." + rand.Text()
	declare := func(lib *amqp.Channel) error {
		_, err := lib.QueueDeclare(name, false, true, true, false, nil)
		return err
	}
	if !i.right(ctx, "declare cq.*", "", declare) {
		return // the others ask about that queue
	}
	i.right(ctx, "read cq.*", "", func(lib *amqp.Channel) error {
		_, _, err := lib.Get(name, true)
		return err
	})
	for _, exchange := range sourceExchanges(wish.Sources) {
		i.right(ctx, fmt.Sprintf("bind cq.* to exchange %q", exchange), "", func(lib *amqp.Channel) error {
			return lib.QueueUnbind(name, name, exchange, nil)
		})
	}
	for _, exchange := range wish.Exchanges {
		if exchange == "" {
			continue // no call asks about the default exchange: unseen says so
		}
		i.right(ctx, fmt.Sprintf("publish to exchange %q", exchange), exchange, func(lib *amqp.Channel) error {
			return lib.ExchangeUnbind(exchange, name, otherThan(exchange), false, nil)
		})
	}
	// it ends with the connection anyway
	_ = i.calls.do(ctx, "delete the doctor's queue", func(lib *amqp.Channel) error {
		_, err := lib.QueueDelete(name, false, false, false)
		return err
	})
}

// sourceExchanges are those that queues of ours are bound to, each once.
func sourceExchanges(sources []federation.Source) (names []string) {
	seen := map[string]bool{"": true}
	for _, source := range sources {
		if !seen[source.Exchange] {
			seen[source.Exchange] = true
			names = append(names, source.Exchange)
		}
	}
	return names
}

// otherThan is an exchange that every broker has.
func otherThan(exchange string) string {
	if exchange == "amq.headers" {
		return "amq.topic"
	}
	return "amq.headers"
}

// right notes whether a call is allowed. A refusal counts when it names refused, or always when that is empty: the call
// may need more than what is asked about. What does not exist is another finding's.
func (i *inspection) right(ctx context.Context, what, refused string, call func(*amqp.Channel) error) (allowed bool) {
	subject := "permission to " + what
	err := i.calls.do(ctx, "ask for the "+subject, call)
	code, text := fault(err)
	switch {
	case code == amqp.NotFound:
		return false
	case code == amqp.AccessRefused && strings.Contains(text, quotedName(refused)):
		i.add(subject, Broken, text, fixPermissions)
		return false
	case err != nil && code != amqp.AccessRefused:
		i.add(subject, Unseen, err.Error(), "rabbitmqctl list_permissions -p VHOST; if it lacks: "+fixPermissions)
		return false
	}
	i.add(subject, Good, "granted", "")
	return true
}

// quotedName is a name as the broker's refusals have it; of no name, what stands in each.
func quotedName(name string) string {
	if name == "" {
		return ""
	}
	return "'" + name + "'"
}
