package embedded

import "strings"

func (ch *channel) handleExchange(id methodID, d *decoder) *exception {
	switch id {
	case exchangeDeclare:
		return ch.declareExchange(d)
	case exchangeDelete:
		return ch.deleteExchange(d)
	case exchangeBind:
		return ch.bindExchange(d, true)
	case exchangeUnbind:
		return ch.bindExchange(d, false)
	}
	return unknownMethod()
}

// declareExchange makes an exchange, or checks that it is as declared.
//
//	reserved short · exchange shortstr · type shortstr · bits passive, durable, auto-delete, internal, no-wait · arguments table
func (ch *channel) declareExchange(d *decoder) *exception {
	d.short()
	name, kind, flags := cleanName(d.shortString()), d.shortString(), d.bits()
	args := d.table()
	x := &exchange{
		name: name, kind: exchangeKind(kind), args: args,
		durable: flags.has(1), autoDelete: flags.has(2), internal: flags.has(3),
	}
	refused := ch.checkExchange(x, flags.has(0))
	if refused == nil {
		ch.reply(flags.has(4), exchangeDeclareOK, nil)
	}
	return refused
}

func (ch *channel) checkExchange(x *exchange, passive bool) *exception {
	b := ch.broker
	if refused := checkKind(x.kind); refused != nil && !passive {
		return refused
	}
	if x.name == "" {
		return defaultExchange()
	}
	old := b.exchanges[x.name]
	switch {
	case passive && old == nil:
		return b.noExchange(x.name)
	case passive:
		return nil
	case old != nil:
		return b.sameExchange(old, x)
	}
	return b.addExchange(x)
}

func checkKind(kind exchangeKind) *exception {
	switch kind {
	case kindDirect, kindFanout, kindTopic, kindHeaders:
		return nil
	}
	return fail(replyCommandInvalid, "invalid exchange type '%s'", string(kind))
}

func (b *Broker) addExchange(x *exchange) *exception {
	if strings.HasPrefix(x.name, "amq.") {
		return fail(replyAccessRefused, "exchange name '%s' contains reserved prefix 'amq.*'", x.name)
	}
	if v := x.args.get("alternate-exchange"); v != nil {
		text, ok := v.text()
		if !ok {
			return fail(replyPreconditionFailed, "invalid type '%s' for arg 'alternate-exchange' in exchange '%s' in vhost '%s'",
				v.typeName(), x.name, b.vhost)
		}
		x.alternate = text
	}
	if len(b.exchanges) >= b.limits.Exchanges {
		return fail(replyPreconditionFailed, "cannot declare exchange '%s': exchange limit in vhost '%s' (%d) is reached",
			x.name, b.vhost, b.limits.Exchanges)
	}
	b.exchanges[x.name] = x
	return nil
}

func (b *Broker) sameExchange(old, x *exchange) *exception {
	what := "exchange '" + x.name + "' in vhost '" + b.vhost + "'"
	for _, f := range []struct {
		name      string
		got, have any
	}{
		{"type", x.kind, old.kind},
		{"durable", x.durable, old.durable},
		{"auto_delete", x.autoDelete, old.autoDelete},
		{"internal", x.internal, old.internal},
	} {
		if f.got != f.have {
			return fail(replyPreconditionFailed, "inequivalent arg '%s' for %s: received '%v' but current is '%v'",
				f.name, what, f.got, f.have)
		}
	}
	return sameArgument("alternate-exchange", what, old.args, x.args)
}

// deleteExchange ends an exchange and every binding from and to it.
//
//	reserved short · exchange shortstr · bits if-unused, no-wait
func (ch *channel) deleteExchange(d *decoder) *exception {
	d.short()
	name, flags := cleanName(d.shortString()), d.bits()
	if name == "" {
		return defaultExchange()
	}
	if strings.HasPrefix(name, "amq.") {
		return fail(replyAccessRefused, "deletion of system exchange '%s' in vhost '%s' not allowed", name,
			ch.broker.vhost)
	}
	if x := ch.broker.exchanges[name]; x != nil {
		if flags.has(0) && len(x.bindings) > 0 {
			return fail(replyPreconditionFailed, "exchange '%s' in vhost '%s' in use", name, ch.broker.vhost)
		}
		ch.broker.removeExchange(x)
	}
	ch.reply(flags.has(1), exchangeDeleteOK, nil)
	return nil
}

func defaultExchange() *exception {
	return fail(replyAccessRefused, "operation not permitted on the default exchange")
}

// cleanName drops line ends, as RabbitMQ does with the names of exchanges and queues.
func cleanName(name string) string {
	if !strings.ContainsAny(name, "\r\n") {
		return name
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(name)
}
