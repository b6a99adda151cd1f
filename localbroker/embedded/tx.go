package embedded

import "slices"

// tx is a channel's transaction: what was published and settled since the last commit. Messages are checked and routed
// when they come and delivered at the commit, as RabbitMQ does. Of the reader.
type tx struct {
	on       bool
	messages []publication
	settled  []txSettled
	bytes    int64
}

type txSettled struct {
	how        settlement
	deliveries []delivery
}

// hold keeps a message for the commit. One transaction holds at most a quarter of the broker's memory.
func (t *tx) hold(ch *channel, p publication) *exception {
	if t.bytes+p.message.cost() > ch.broker.limits.MemoryBytes/4 {
		return fail(replyPreconditionFailed, "transaction of more than %d bytes", ch.broker.limits.MemoryBytes/4)
	}
	p.queues = slices.Clone(p.queues)
	t.bytes += p.message.cost()
	ch.broker.hold(p.message)
	t.messages = append(t.messages, p)
	return nil
}

// keep keeps a settlement for the commit.
func (t *tx) keep(how settlement, deliveries []delivery) {
	t.settled = append(t.settled, txSettled{how, slices.Clone(deliveries)})
}

func (t *tx) commit(ch *channel) {
	for _, p := range t.messages {
		ch.broker.release(p.message)
		p.queues = slices.DeleteFunc(p.queues, func(q *queue) bool { return q.deleted })
		ch.deliver(p)
	}
	for _, s := range t.settled {
		ch.finish(s.how, s.deliveries)
	}
	*t = tx{on: true}
}

// rollback forgets the messages; the deliveries are unsettled again.
func (t *tx) rollback(ch *channel) {
	for _, p := range t.messages {
		ch.broker.release(p.message)
	}
	for _, s := range t.settled {
		ch.unsettled.restore(s.deliveries)
	}
	*t = tx{on: t.on}
}
