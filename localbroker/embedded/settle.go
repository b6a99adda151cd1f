package embedded

import "slices"

// settlement is what a client says about deliveries.
type settlement int

const (
	settleAck     settlement = iota // done with
	settleReject                    // drop, or dead-letter
	settleRequeue                   // back to where it was in the queue
)

// settle takes an ack, reject or nack.
//
//	ack: delivery-tag longlong · multiple bit
//	reject: delivery-tag longlong · requeue bit
//	nack: delivery-tag longlong · bits multiple, requeue
func (ch *channel) settle(id methodID, d *decoder) *exception {
	tag, flags := d.longlong(), d.bits()
	how, multiple := settleAck, flags.has(0)
	switch {
	case id == basicReject:
		multiple = false
		how = rejection(flags.has(0))
	case id == basicNack:
		how = rejection(flags.has(1))
	}
	taken, ok := ch.unsettled.take(ch.taken[:0], tag, multiple)
	if !ok {
		return fail(replyPreconditionFailed, "unknown delivery tag %d", tag)
	}
	if ch.tx.on {
		ch.tx.keep(how, taken)
		return nil
	}
	ch.finish(how, taken)
	clear(taken)
	ch.taken = taken[:0]
	return nil
}

func rejection(requeue bool) settlement {
	if requeue {
		return settleRequeue
	}
	return settleReject
}

// finish carries a settlement out and hands on what it made room for.
func (ch *channel) finish(how settlement, deliveries []delivery) {
	if how == settleRequeue {
		// Backwards, so that each goes to the very front of its queue.
		for _, dl := range slices.Backward(deliveries) {
			ch.discount(dl)
			dl.queue.requeue(dl.entry)
		}
	} else {
		for _, dl := range deliveries {
			ch.discount(dl)
			if how == settleReject {
				dl.queue.deadLetter(dl.entry.message, deathRejected)
			}
			dl.queue.settle(dl.entry)
		}
	}
	ch.broker.counters.Settled += uint64(len(deliveries))
	ch.afterSettling(how, deliveries)
}

func (ch *channel) discount(dl delivery) {
	if dl.consumer != nil {
		dl.consumer.unsettled--
		ch.limited--
	}
}

func (ch *channel) afterSettling(how settlement, deliveries []delivery) {
	var last *queue
	for _, dl := range deliveries {
		if dl.queue == last {
			continue
		}
		last = dl.queue
		if how == settleRequeue && !last.deleted {
			last.dropOverflow()
			last.dropExpired()
		}
		last.deliverAll()
	}
	if ch.prefetch > 0 {
		ch.deliverMore()
	}
}

// requeueAll gives everything unsettled back.
func (ch *channel) requeueAll() {
	all, _ := ch.unsettled.take(nil, 0, true)
	ch.finish(settleRequeue, all)
}

// recover gives everything unsettled back; the broker may deliver it to others.
//
//	requeue bit
func (ch *channel) recover(id methodID, d *decoder) *exception {
	if !d.bits().has(0) {
		return fail(replyNotImplemented, "requeue=false")
	}
	ch.requeueAll()
	if id == basicRecover {
		ch.send(basicRecoverOK, nil)
	}
	return nil
}
