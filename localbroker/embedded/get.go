package embedded

// get takes one message without a consumer.
//
//	reserved short · queue shortstr · no-ack bit
//	get-ok: delivery-tag longlong · redelivered bit · exchange shortstr · routing-key shortstr · message-count long
func (ch *channel) get(d *decoder) *exception {
	d.short()
	name, noAck := d.shortString(), d.bits().has(0)
	q, refused := ch.usableQueue(name)
	if refused != nil {
		return refused
	}
	q.touch()
	q.dropExpired()
	e := q.pop()
	if e == nil {
		ch.send(basicGetEmpty, []byte{0})
		return nil
	}
	q.dropExpired()
	ch.tag++
	if noAck {
		ch.broker.release(e.message)
	} else {
		q.unsettled++
		ch.unsettled.add(delivery{tag: ch.tag, entry: e, queue: q})
	}
	ch.broker.counters.Delivered++
	args := appendLonglong(nil, ch.tag)
	args = appendBool(args, e.redelivered)
	args = appendShortString(args, e.exchange)
	args = appendShortString(args, e.key())
	args = appendLong(args, uint32(q.readyCount))
	ch.sendContent(basicGetOK, args, e.message)
	return nil
}
