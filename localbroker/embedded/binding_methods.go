package embedded

// bindExchange binds or unbinds two exchanges.
//
//	reserved short · destination shortstr · source shortstr · routing-key shortstr · no-wait bit · arguments table
func (ch *channel) bindExchange(d *decoder, bind bool) *exception {
	d.short()
	destination, source, key, noWait := cleanName(d.shortString()), cleanName(d.shortString()), d.shortString(),
		d.bits().has(0)
	args := d.table()
	if destination == "" || source == "" {
		return defaultExchange()
	}
	to := ch.broker.exchanges[destination]
	missing := to == nil
	from, refused := ch.broker.bindingSource(source, missing,
		func() *exception { return ch.broker.noExchange(destination) })
	if refused == nil {
		refused = ch.broker.changeBinding(from, &binding{exchange: to, key: key, args: args}, bind)
	}
	if refused == nil {
		ch.reply(noWait, answerOf(bind, exchangeBindOK, exchangeUnbindOK), nil)
	}
	return refused
}

// bindQueue binds a queue to an exchange. With an empty queue name and key it means the queue declared last under its
// name.
//
//	reserved short · queue shortstr · exchange shortstr · routing-key shortstr · no-wait bit (bind alone) · arguments table
func (ch *channel) bindQueue(d *decoder, bind bool) *exception {
	d.short()
	name, source, key, noWait := d.shortString(), cleanName(d.shortString()), d.shortString(), false
	if bind {
		noWait = d.bits().has(0)
	}
	args := d.table()
	if name == "" && key == "" {
		key = ch.lastQueue
	}
	name, refused := ch.expandName(name)
	if refused != nil {
		return refused
	}
	if refused := ch.changeQueueBinding(name, source, key, args, bind); refused != nil {
		return refused
	}
	ch.reply(noWait, answerOf(bind, queueBindOK, queueUnbindOK), nil)
	return nil
}

func (ch *channel) changeQueueBinding(name, source, key string, args table, bind bool) *exception {
	if source == "" {
		return defaultExchange()
	}
	b := ch.broker
	q := b.queues[cleanName(name)]
	from, refused := b.bindingSource(source, q == nil, func() *exception { return b.noQueue(name) })
	if refused != nil {
		return refused
	}
	if refused := ch.mayUse(q); refused != nil {
		return refused
	}
	return b.changeBinding(from, &binding{queue: q, key: key, args: args}, bind)
}

// bindingSource finds the exchange that a binding leads from. RabbitMQ names the source when both ends are missing.
func (b *Broker) bindingSource(source string, destinationMissing bool, missing func() *exception) (
	*exchange, *exception) {
	x := b.exchanges[source]
	if x == nil {
		return nil, b.noExchange(source)
	}
	if destinationMissing {
		return nil, missing()
	}
	return x, nil
}

func answerOf(bind bool, bound, unbound methodID) methodID {
	if bind {
		return bound
	}
	return unbound
}

// changeBinding adds or removes a binding; adding one that is there and removing one that is not change nothing.
func (b *Broker) changeBinding(source *exchange, bd *binding, bind bool) *exception {
	if !bind {
		b.unbind(source, func(other *binding) bool { return other.same(bd) })
		return nil
	}
	if source.kind == kindHeaders {
		if refused := checkHeadersArguments(bd.args); refused != nil {
			return refused
		}
	}
	if source.find(bd) != nil {
		return nil
	}
	if b.bindings >= b.limits.Bindings {
		return fail(replyPreconditionFailed, "binding limit in vhost '%s' (%d) is reached", b.vhost, b.limits.Bindings)
	}
	source.add(bd)
	b.bindings++
	return nil
}
