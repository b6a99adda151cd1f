package localbroker

import (
	"context"
	"fmt"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// Finding is one line of what Inspect found.
type Finding struct {
	Subject string // connection, exchange "orders", queue "cq.out.orders" …
	Level   Level
	Text    string
	Fix     string // what to type or to change; empty when Level is Good
}

// Level tells how bad a finding is.
type Level uint8

// Levels of findings.
const (
	Good   Level = iota
	Unseen       // AMQP alone does not show it; Fix tells what does
	Unsafe       // it works, and messages may be lost or doubled
	Broken       // it does not work
)

var levelNames = [...]string{"good", "unseen", "unsafe", "broken"}

// String gives the level's name.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level %d", uint8(l))
}

// Wish is what Inspect looks at.
type Wish struct {
	Sources   []federation.Source
	Exchanges []string // to publish to
	Publisher uint32   // index of the owner lock
}

// Inspect dials a connection of its own (Run need not run) and looks without changing anything but for a queue
// cq.doctor.RANDOM, exclusive to that connection, by which it asks for permissions. It ends with ctx, with what was
// found until then.
func (b *Broker) Inspect(ctx context.Context, wish Wish) []Finding {
	s, err := dial(ctx, &b.cfg, &b.target, "doctor")
	if err != nil {
		reason, fix := explainConnection(err)
		return []Finding{{"connection", Broken, reason, fix}}
	}
	defer s.close(closingGrace)
	i := &inspection{calls: &control{session: s}}
	defer i.calls.close()
	i.connection(s)
	i.rights(ctx, wish)
	for _, source := range wish.Sources {
		i.source(ctx, source)
	}
	for _, name := range wish.Exchanges {
		i.exchange(ctx, name, "")
	}
	i.lock(ctx, fmt.Sprintf("cq.owner.%s.%d", b.cfg.Site, wish.Publisher))
	i.unseen(wish)
	return i.found
}

// inspection collects findings over one connection.
type inspection struct {
	calls *control
	found []Finding
}

func (i *inspection) add(subject string, level Level, text, fix string) {
	i.found = append(i.found, Finding{subject, level, text, fix})
}

func (i *inspection) connection(s *session) {
	product, version := s.broker()
	i.add("connection", Good, fmt.Sprintf("%s %s, frames of %d bytes, heartbeat %v",
		product, version, s.client.Config.FrameSize, s.client.Config.Heartbeat), "")
	offered, _ := s.client.Properties["capabilities"].(amqp.Table)
	for _, name := range []string{"publisher_confirms", "basic.nack", "consumer_cancel_notify", "connection.blocked"} {
		if has, _ := offered[name].(bool); !has {
			i.add("connection", Unsafe, "the broker does not offer "+name,
				"use a broker that does: RabbitMQ 3.8 or later, LavinMQ")
		}
	}
}

// exchange looks for an exchange that is published to or, with a declare type, may be missing.
func (i *inspection) exchange(ctx context.Context, name, declare string) {
	subject := fmt.Sprintf("exchange %q", name)
	if name == "" {
		return
	}
	err := i.calls.checkExchange(ctx, name)
	code, text := fault(err)
	switch {
	case err == nil:
		i.add(subject, Good, "exists", "")
	case code == amqp.NotFound && declare != "":
		i.add(subject, Good, "does not exist; the route declares it ("+declare+")", "")
	case code == amqp.NotFound:
		i.add(subject, Broken, "does not exist", "declare it, durable, or let the route do it: "+
			"declare: {type: topic} in its from; for a destination on-missing-exchange: {declare: {type: topic}}")
	case code == amqp.AccessRefused:
		i.add(subject, Broken, text, fixPermissions)
	default:
		i.add(subject, Broken, err.Error(), "")
	}
}

// source looks at a source's exchange and queue.
func (i *inspection) source(ctx context.Context, source federation.Source) {
	own := source.Exchange != ""
	if own {
		i.exchange(ctx, source.Exchange, source.Declare)
	}
	subject := fmt.Sprintf("queue %q", source.Queue)
	queue, err := i.queue(ctx, source.Queue)
	code, text := fault(err)
	switch {
	case err == nil && !own && queue.Consumers > 0:
		i.add(subject, Unseen, fmt.Sprintf("has %d consumers and %d messages; it must have the router alone",
			queue.Consumers, queue.Messages), "who they are: rabbitmqctl list_consumers")
	case err == nil && own:
		i.ownQueue(ctx, source.Queue, queue)
	case err == nil:
		i.add(subject, Good, fmt.Sprintf("exists, %d messages", queue.Messages), "")
	case code == amqp.NotFound && own:
		i.add(subject, Good, "does not exist; the router declares it", "")
	case code == amqp.NotFound:
		i.add(subject, Broken, "does not exist", "declare it, durable, or correct the route's source")
	case code == amqp.ResourceLocked:
		i.add(subject, Broken, text, "declare it durable and not exclusive")
	case code == amqp.AccessRefused:
		i.add(subject, Broken, text, fixPermissions)
	default:
		i.add(subject, Broken, err.Error(), "")
	}
}

func (i *inspection) queue(ctx context.Context, name string) (queue amqp.Queue, err error) {
	err = i.calls.do(ctx, "look for the queue", func(lib *amqp.Channel) (err error) {
		queue, err = lib.QueueDeclarePassive(name, true, false, false, false, nil)
		return err
	})
	return queue, err
}

// ownQueue compares an existing queue of ours with what the router declares: declaring it again changes nothing, and is
// refused when it differs.
func (i *inspection) ownQueue(ctx context.Context, name string, queue amqp.Queue) {
	subject := fmt.Sprintf("queue %q", name)
	err := i.calls.do(ctx, "compare the queue", func(lib *amqp.Channel) error {
		_, err := lib.QueueDeclare(name, true, false, false, false, nil)
		return err
	})
	code, text := fault(err)
	switch {
	case err == nil:
		i.add(subject, Good, fmt.Sprintf("durable, without arguments, %d messages, %d consumers",
			queue.Messages, queue.Consumers), "")
	case code == amqp.PreconditionFailed:
		i.add(subject, Unsafe, text,
			"if that is not on purpose: drain it, rabbitmqctl delete_queue --if-empty "+name+
				", and let the router declare it")
	case code == amqp.AccessRefused:
		i.add(subject, Broken, text, fixPermissions)
	default:
		i.add(subject, Broken, err.Error(), "")
	}
}

// lock looks at the owner lock's queue.
func (i *inspection) lock(ctx context.Context, name string) {
	subject := fmt.Sprintf("owner lock %q", name)
	queue, err := i.queue(ctx, name)
	code, text := fault(err)
	switch {
	case code == amqp.NotFound:
		i.add(subject, Good, "does not exist; the router declares it", "")
	case code != 0:
		i.add(subject, Broken, text, fixPermissions)
	case err != nil:
		i.add(subject, Broken, err.Error(), "")
	case queue.Consumers > 0:
		i.add(subject, Good, "held: a router publishes (or its channel has not ended yet)", "")
	default:
		i.add(subject, Good, "free", "")
	}
}

// unseen says what AMQP does not show.
func (i *inspection) unseen(wish Wish) {
	unasked := slices.ContainsFunc(wish.Sources, func(s federation.Source) bool {
		return s.Exchange == "" || s.Declare != ""
	})
	if unasked || slices.Contains(wish.Exchanges, "") {
		i.add("other permissions", Unseen,
			"the right to read a queue that is only drained, to declare an exchange that a route declares, "+
				"and to write to the default exchange, shows when it is used",
			"rabbitmqctl list_permissions -p VHOST; if it lacks: "+fixPermissions)
	}
	i.add("policies and arguments", Unseen,
		"a message TTL, a maximum length (drop-head loses messages after their confirm), "+
			"a delivery limit on a quorum queue, an expiry of the queue",
		"rabbitmqctl list_queues -p VHOST name durable arguments policy; rabbitmqctl list_policies -p VHOST; "+
			"leave cq.* out of such policies; x-delivery-limit -1 on quorum sources")
	i.add("consumer timeout", Unseen,
		"the router acks within seconds; a consumer_timeout below a minute would still close its channels",
		"rabbitmqctl eval 'application:get_env(rabbit, consumer_timeout).'")
}
