package embedded

// qos limits how many unsettled deliveries consumers get: each one that starts after it, or with the bit global all of
// the channel together (RabbitMQ's meaning of global).
//
//	prefetch-size long · prefetch-count short · global bit
func (ch *channel) qos(d *decoder) *exception {
	size, count, global := d.long(), int(d.short()), d.bits().has(0)
	if size != 0 {
		return fail(replyNotImplemented, "prefetch_size!=0 (%d)", size)
	}
	ch.send(basicQosOK, nil)
	if global {
		ch.prefetch = count
	} else {
		ch.consumerPrefetch = count
		ch.prefetch = 0
	}
	ch.deliverMore()
	return nil
}

// deliverMore serves the channel's consumers again after room was made.
func (ch *channel) deliverMore() {
	for _, c := range ch.consumers {
		c.queue.deliverAll()
	}
}
