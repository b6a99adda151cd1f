package embedded

func (ch *channel) handleQueue(id methodID, d *decoder) *exception {
	switch id {
	case queueDeclare:
		return ch.declareQueue(d)
	case queueBind:
		return ch.bindQueue(d, true)
	case queueUnbind:
		return ch.bindQueue(d, false)
	case queuePurge:
		return ch.purgeQueue(d)
	case queueDelete:
		return ch.deleteQueue(d)
	}
	return unknownMethod()
}

// purgeQueue drops what is ready.
//
//	reserved short · queue shortstr · no-wait bit
func (ch *channel) purgeQueue(d *decoder) *exception {
	d.short()
	name, noWait := d.shortString(), d.bits().has(0)
	q, refused := ch.usableQueue(name)
	if refused != nil {
		return refused
	}
	ch.reply(noWait, queuePurgeOK, appendLong(nil, uint32(q.purge())))
	return nil
}

// deleteQueue ends a queue. One that is not there is answered as if it had been empty.
//
//	reserved short · queue shortstr · bits if-unused, if-empty, no-wait
func (ch *channel) deleteQueue(d *decoder) *exception {
	d.short()
	name, flags := d.shortString(), d.bits()
	name, refused := ch.expandName(name)
	if refused != nil {
		return refused
	}
	messages := 0
	if q := ch.broker.queues[cleanName(name)]; q != nil {
		if refused := ch.mayDelete(q, flags); refused != nil {
			return refused
		}
		messages = q.delete()
	}
	ch.reply(flags.has(2), queueDeleteOK, appendLong(nil, uint32(messages)))
	return nil
}

func (ch *channel) mayDelete(q *queue, flags bits) *exception {
	if refused := ch.mayUse(q); refused != nil {
		return refused
	}
	if flags.has(0) && len(q.consumers) > 0 {
		return fail(replyPreconditionFailed, "%s in use", ch.broker.named(q))
	}
	if flags.has(1) && q.readyCount > 0 {
		return fail(replyPreconditionFailed, "%s not empty", ch.broker.named(q))
	}
	return nil
}
