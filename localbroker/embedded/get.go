package embedded

// get takes one message without a consumer.
//
//	reserved short · queue shortstr · no-ack bit
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
	ch.sendContent(basicGetOK, getOKArguments(ch.tag, e, q.readyCount), e.message)
	return nil
}

// getOKArguments are those of basic.get-ok.
//
//	delivery-tag longlong · redelivered bit · exchange shortstr · routing-key shortstr · message-count long
func getOKArguments(tag uint64, e *entry, left int) []byte {
	args := appendLonglong(nil, tag)
	args = appendBool(args, e.redelivered)
	args = appendShortString(args, e.exchange)
	args = appendShortString(args, e.key())
	return appendLong(args, uint32(left))
}
