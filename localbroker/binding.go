package localbroker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// binding is one binding of an own queue.
type binding struct{ exchange, key string }

// bindings gives what a source wants. Without keys an exchange that ignores them (fanout) is meant.
func bindings(source federation.Source) []binding {
	if source.Exchange == "" {
		return nil
	}
	if len(source.Keys) == 0 {
		return []binding{{exchange: source.Exchange}}
	}
	var all []binding
	for _, key := range source.Keys {
		all = append(all, binding{source.Exchange, key})
	}
	return all
}

// assertion is what came of asserting queue and bindings.
type assertion struct {
	asked   uint64 // the wish that it fulfils
	problem problem
	again   <-chan time.Time // when to look again before the regular time; nil: no need
}

// problem is what a person has to know; the zero value is none.
type problem struct {
	state       federation.State
	reason, fix string
}

// heldError is a problem that leaves nothing to consume.
type heldError struct{ problem }

func (e *heldError) Error() string { return e.reason }

// between looks at what a person has to mend; chosen: soon enough for the person who waits for it
const heldRetry = 5 * time.Second

// assert declares and binds what the source wants, then unbinds what it does not want any more. Everything is
// idempotent. A problem is not an error as long as there is a queue to consume from.
func (c *Consumer) assert(ctx context.Context, s *session, atOnce bool) (assertion, error) {
	c.mu.Lock()
	source, asked := c.source, c.asked
	stale := append([]binding(nil), c.stale...)
	c.mu.Unlock()
	calls := &control{session: s, atOnce: atOnce}
	defer calls.close()
	result := assertion{asked: asked}
	err := c.assertQueue(ctx, calls, source, &result)
	if err != nil {
		if deleted(err) {
			c.forgetAll()
		}
		return result, err
	}
	bound := true
	for _, b := range bindings(source) {
		if err := c.bind(ctx, calls, source, b); err != nil {
			bound = false
			if result.problem, err = explainBinding(err, c.queue, b, source.Declare); err != nil {
				return result, err
			}
		}
	}
	if bound { // adding comes first: no message between two sets of keys is missed
		err = c.unbind(ctx, calls, stale)
	}
	if result.problem.state == stateHeld {
		result.again = time.After(min(heldRetry, c.broker.cfg.Reassert))
	}
	return result, err
}

// assertQueue declares the own queue, or looks for somebody else's, or for an own one that is only drained.
func (c *Consumer) assertQueue(ctx context.Context, calls *control, source federation.Source, result *assertion) error {
	leftover := c.own && source.Exchange == ""
	if c.own && !leftover && c.differs == "" {
		err := calls.do(ctx, "declare the queue", func(lib *amqp.Channel) error {
			_, err := lib.QueueDeclare(c.queue, true, false, false, false, nil)
			return err
		})
		code, text := fault(err)
		if code != amqp.PreconditionFailed {
			return explainQueue(err, c.queue)
		}
		c.differs = text
	}
	err := calls.do(ctx, "look for the queue", func(lib *amqp.Channel) error {
		_, err := lib.QueueDeclarePassive(c.queue, true, false, false, false, nil)
		return err
	})
	if err != nil {
		c.differs = ""
		return explainMissing(err, c.queue, leftover)
	}
	// a quorum queue that the admin made is welcome
	if c.differs != "" && !strings.Contains(c.differs, "'x-queue-type'") {
		result.problem = problem{stateUnsafe, c.differs,
			"empty and delete the queue, so that it is declared again as a durable one: " +
				"rabbitmqctl delete_queue --if-empty " + c.queue}
	}
	return nil
}

// bind makes one binding; a missing exchange is declared when the source says how.
func (c *Consumer) bind(ctx context.Context, calls *control, source federation.Source, b binding) error {
	bind := func(lib *amqp.Channel) error { return lib.QueueBind(c.queue, b.key, b.exchange, false, nil) }
	err := calls.do(ctx, "bind", bind)
	if code, _ := fault(err); code != amqp.NotFound || source.Declare == "" {
		return err
	}
	if err := calls.declareExchange(ctx, b.exchange, source.Declare); err != nil {
		return err
	}
	return calls.do(ctx, "bind", bind)
}

// unbind removes bindings. One that does not exist, or whose exchange does not, is removed.
func (c *Consumer) unbind(ctx context.Context, calls *control, stale []binding) error {
	for _, b := range stale {
		err := calls.do(ctx, "unbind", func(lib *amqp.Channel) error {
			return lib.QueueUnbind(c.queue, b.key, b.exchange, nil)
		})
		if code, _ := fault(err); err != nil && code != amqp.NotFound {
			return err
		}
		c.forget(b)
	}
	return nil
}

func (c *Consumer) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = nil
	c.changed.fire()
}

func (c *Consumer) forget(gone binding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, b := range c.stale {
		if b == gone {
			c.stale = append(c.stale[:i:i], c.stale[i+1:]...)
			break
		}
	}
	c.changed.fire()
}

// show sets the state of a consumer that consumes.
func (c *Consumer) show(a assertion) {
	if a.problem.state == "" {
		c.box.set(stateRunning, "", "")
		return
	}
	c.box.set(a.problem.state, a.problem.reason, a.problem.fix)
}

// explain sets the state of a consumer whose incarnation ended with err.
func (c *Consumer) explain(err error) {
	var held *heldError
	var size oversizeError
	code, text := fault(err)
	limit, raise, limited := explainLimit(err)
	switch {
	case limited:
		c.box.set(stateHeld, limit, raise)
	case errors.As(err, &held):
		c.box.set(held.state, held.reason, held.fix)
	case errors.As(err, &size):
		c.box.set(stateHeld, size.Error(), "stop the router, take the message out (rabbitmqadmin get queue="+c.queue+
			" ackmode=ack_requeue_false), start it; and keep such messages out: max_message_size in rabbitmq.conf")
	case exclusive(err):
		c.box.set(stateWaiting, "another consumer holds the queue "+c.queue,
			"it must have the queue alone; who it is: rabbitmqctl list_consumers")
	case code == amqp.AccessRefused:
		c.box.set(stateHeld, text, fixPermissions)
	case errors.Is(err, errOver):
		c.box.set(stateWaiting, "the channel ended", "")
	default:
		c.box.set(stateWaiting, err.Error(), "")
	}
}

const fixPermissions = "rabbitmqctl set_permissions -p VHOST NAME '^cq\\.' '.*' '.*' (configure, write, read); " +
	"with an exchange that a route declares: '^(cq\\.|EXCHANGE$)' '.*' '.*'"

// oversizeError is a message over the limit, in bytes.
type oversizeError int64

func (e oversizeError) Error() string {
	return fmt.Sprintf("the next message has %d bytes, over the limit", int64(e))
}

func isOversize(err error) bool { return errors.As(err, new(oversizeError)) }

// deleted: a queue that was only drained is gone, and its bindings with it.
func deleted(err error) bool {
	var held *heldError
	return errors.As(err, &held) && held.state == stateClosed
}

// explainMissing is explainQueue for a queue that is looked for: of one that is only drained the end is no problem.
func explainMissing(err error, queue string, leftover bool) error {
	if code, _ := fault(err); leftover && code == amqp.NotFound {
		return &heldError{problem{stateClosed, fmt.Sprintf("queue %q is deleted", queue), ""}}
	}
	return explainQueue(err, queue)
}

// explainQueue turns the broker's refusal of a queue into a problem.
func explainQueue(err error, queue string) error {
	code, text := fault(err)
	switch code {
	case amqp.NotFound:
		return &heldError{problem{stateHeld, fmt.Sprintf("queue %q does not exist", queue),
			"declare the queue, durable, or correct the route's source"}}
	case amqp.AccessRefused:
		return &heldError{problem{stateHeld, text, fixPermissions}}
	case amqp.ResourceLocked:
		return &heldError{problem{stateHeld, text,
			"the queue is exclusive to a connection: declare it durable and not exclusive"}}
	}
	return err
}

// explainBinding turns the broker's refusal of a binding into a problem; other errors stay errors.
func explainBinding(err error, queue string, b binding, declare string) (problem, error) {
	code, text := fault(err)
	switch code {
	case amqp.NotFound:
		return problem{stateHeld, fmt.Sprintf("exchange %q does not exist", b.exchange),
			"declare the exchange, durable, or let the route do it: " +
				"declare: {type: topic} in its from (or direct, fanout, headers)"}, nil
	case amqp.AccessRefused:
		return problem{stateHeld, text, fixPermissions}, nil
	case amqp.PreconditionFailed, amqp.CommandInvalid, amqp.NotAllowed:
		if declare == "" {
			declare = "none"
		}
		return problem{stateHeld, fmt.Sprintf("binding queue %q to exchange %q: %s", queue, b.exchange, text),
			"correct the route's source (declare: " + declare + ")"}, nil
	}
	return problem{}, err
}
