package embedded

import (
	"bytes"
	"fmt"
	"strings"
)

// queueFlags are the bits of queue.declare.
type queueFlags struct{ passive, durable, exclusive, autoDelete, noWait bool }

// declareQueue makes a queue, or checks that it is as declared.
//
//	reserved short · queue shortstr · bits passive, durable, exclusive, auto-delete, no-wait · arguments table
func (ch *channel) declareQueue(d *decoder) *exception {
	d.short()
	name, bits := cleanName(d.shortString()), d.bits()
	flags := queueFlags{bits.has(0), bits.has(1), bits.has(2), bits.has(3), bits.has(4)}
	args := d.table()
	if isReplyName(name) {
		return ch.declareReplies(name, flags.noWait)
	}
	if flags.passive {
		return ch.declarePassive(name, flags.noWait)
	}
	if name == "" {
		name = ch.broker.generated("amq.gen-")
	} else if strings.HasPrefix(name, "amq.") && ch.broker.queues[name] == nil {
		return fail(replyAccessRefused, "queue name '%s' contains reserved prefix 'amq.*'", name)
	}
	return ch.declareNamed(name, flags, args)
}

func (ch *channel) declarePassive(name string, noWait bool) *exception {
	q := ch.broker.queues[name]
	if q == nil {
		return ch.broker.noQueue(name)
	}
	if refused := ch.mayUse(q); refused != nil {
		return refused
	}
	q.touch()
	ch.declared(name, q.readyCount, len(q.consumers), noWait)
	return nil
}

func (ch *channel) declareNamed(name string, flags queueFlags, args table) *exception {
	q := ch.broker.queues[name]
	if q != nil {
		if refused := ch.sameQueue(q, flags, args); refused != nil {
			return refused
		}
	} else {
		var refused *exception
		if q, refused = ch.addQueue(name, flags, args); refused != nil {
			return refused
		}
	}
	q.touch()
	ch.declared(name, q.readyCount, len(q.consumers), flags.noWait)
	return nil
}

// declared answers a declare.
//
//	queue shortstr · message-count long · consumer-count long
func (ch *channel) declared(name string, messages, consumers int, noWait bool) {
	ch.lastQueue = name
	args := appendShortString(nil, name)
	args = appendLong(args, uint32(messages))
	ch.reply(noWait, queueDeclareOK, appendLong(args, uint32(consumers)))
}

func (ch *channel) addQueue(name string, flags queueFlags, args table) (*queue, *exception) {
	b := ch.broker
	options, refused := parseQueueOptions(name, b.vhost, args)
	if refused != nil {
		return nil, refused
	}
	if len(b.queues) >= b.limits.Queues {
		return nil, fail(replyPreconditionFailed, "cannot declare queue '%s': queue limit in vhost '%s' (%d) is reached",
			name, b.vhost, b.limits.Queues)
	}
	q := newQueue(b, name, options)
	q.durable, q.autoDelete, q.args = flags.durable && !flags.exclusive, flags.autoDelete, args
	if flags.exclusive {
		q.owner = ch.connection
	}
	b.queues[name] = q
	return q, nil
}

func (ch *channel) sameQueue(q *queue, flags queueFlags, args table) *exception {
	if (q.owner != nil || flags.exclusive) && (q.owner != ch.connection || !flags.exclusive) {
		return ch.locked(q)
	}
	what := ch.broker.named(q)
	for _, f := range []struct {
		name      string
		got, have bool
	}{
		{"durable", flags.durable && !flags.exclusive, q.durable},
		{"auto_delete", flags.autoDelete, q.autoDelete},
	} {
		if f.got != f.have {
			return fail(replyPreconditionFailed, "inequivalent arg '%s' for %s: received '%v' but current is '%v'",
				f.name, what, f.got, f.have)
		}
	}
	for _, a := range declareArguments {
		if refused := sameArgument(a.name, what, q.args, args); refused != nil {
			return refused
		}
	}
	return nil
}

// sameArgument compares one argument of a second declare. Integers of different width are the same when their values
// are; naming the classic queue type is the same as leaving it out.
func sameArgument(name, what string, old, args table) *exception {
	have, got := old.get(name), args.get(name)
	if bytes.Equal(have, got) {
		return nil
	}
	a, isIntA := have.integer()
	b, isIntB := got.integer()
	if isIntA && isIntB {
		if a == b {
			return nil
		}
		return fail(replyPreconditionFailed, "inequivalent arg '%s' for %s: received '%d' but current is '%d'", name,
			what, b, a)
	}
	if name == "x-queue-type" && (len(have) == 0 || len(got) == 0) {
		return nil
	}
	return fail(replyPreconditionFailed, "inequivalent arg '%s' for %s: received %s but current is %s",
		name, what, described(got, have), described(have, got))
}

// described is how RabbitMQ shows one side of a difference: without the type when both sides have a value.
func described(v, other value) string {
	if v == nil {
		return "none"
	}
	if other != nil {
		return "'" + v.printed() + "'"
	}
	return fmt.Sprintf("the value '%s' of type '%s'", v.printed(), v.typeName())
}
