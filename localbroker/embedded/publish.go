package embedded

// publication is a message that has passed every check, with the queues that it goes to.
type publication struct {
	message   *message
	queues    []*queue
	replied   bool // a direct reply: it went to a client, not to a queue
	mandatory bool
	number    uint64 // of confirm mode
	fate      Fate
}

// publish takes a message that has arrived whole: checks it, routes it and, outside a transaction, delivers it. The
// checks come in RabbitMQ's order. Broker.mu is held.
func (ch *channel) publish(c content) *exception {
	x, refused := ch.broker.publishable(c.exchange)
	if refused != nil {
		return refused
	}
	m := &message{exchange: x.name, properties: c.props, body: c.body}
	if refused := ch.replyAddress(m); refused != nil {
		return refused
	}
	if refused := ch.checkProperties(m); refused != nil {
		return refused
	}
	p := publication{message: m, mandatory: c.mandatory, number: ch.confirms.next()}
	if refused := checkMessage(m, c.key); refused != nil {
		return refused
	}
	ch.broker.counters.Published++
	if over, refused := ch.meetsFate(&p); over {
		return refused
	}
	p.queues, p.replied = ch.broker.find(x, m)
	if ch.tx.on {
		return ch.tx.hold(ch, p)
	}
	ch.deliver(p)
	return nil
}

func (b *Broker) publishable(name string) (*exchange, *exception) {
	x := b.exchanges[name]
	if x == nil {
		return nil, b.noExchange(name)
	}
	if x.internal {
		return nil, fail(replyAccessRefused, "cannot publish to internal exchange '%s' in vhost '%s'", name, b.vhost)
	}
	return x, nil
}

// find routes the message. Keys of the default exchange that name a reply consumer go straight to it.
func (b *Broker) find(x *exchange, m *message) (queues []*queue, replied bool) {
	if x.name == "" {
		for _, key := range m.keys {
			if c := b.replies[key]; c != nil {
				c.deliverReply(m)
				replied = true
			}
		}
	}
	return b.route(x, m, m.keys), replied
}

// deliver puts a publication into its queues, then tells the publisher: first the return, then the confirm.
func (ch *channel) deliver(p publication) {
	accepted := true
	for _, q := range p.queues {
		if !q.enqueue(p.message) {
			accepted = false
		}
	}
	if len(p.queues) == 0 {
		ch.unroutable(p)
	}
	ch.answer(p, accepted)
}

// unroutable returns a mandatory message and counts another.
//
//	reply-code short · reply-text shortstr · exchange shortstr · routing-key shortstr, then the content
func (ch *channel) unroutable(p publication) {
	if !p.mandatory {
		if !p.replied {
			ch.broker.counters.Unroutable++
		}
		return
	}
	ch.broker.counters.Returned++
	args := appendShort(nil, uint16(replyNoRoute))
	args = appendShortString(args, replyNames[replyNoRoute])
	args = appendShortString(args, p.message.exchange)
	args = appendShortString(args, p.message.key())
	ch.sendContent(basicReturn, args, p.message)
}

func (ch *channel) checkProperties(m *message) *exception {
	p := &m.properties
	user := ch.connection.user
	if claimed := p.text(propUserID); p.has(propUserID) && claimed != user && !ch.broker.users[user].Impersonator {
		return fail(replyPreconditionFailed, "user_id property set to '%s' but authenticated user was '%s'", claimed,
			user)
	}
	if !p.has(propExpiration) {
		return nil
	}
	text := p.text(propExpiration)
	if reason := checkExpiration(text); reason != "" {
		return fail(replyPreconditionFailed, "invalid expiration '%s': %s", text, reason)
	}
	return nil
}

// checkMessage checks what RabbitMQ calls the message: CC, BCC and the delivery mode; it sets the keys and strips BCC.
func checkMessage(m *message, key string) *exception {
	p := &m.properties
	m.keys = []string{key}
	for _, name := range []string{"CC", "BCC"} {
		v := p.header(name)
		if v == nil {
			continue
		}
		if v.kind() != 'A' {
			return fail(replyPreconditionFailed, "invalid message: {unacceptable_type_in_header,%q,%s}", name,
				v.typeName())
		}
		m.keys = append(m.keys, headerKeys(p, name)...)
	}
	if mode := p.octet(propDeliveryMode); p.has(propDeliveryMode) && mode != 1 && mode != 2 {
		return fail(replyPreconditionFailed, "invalid message: {delivery_mode_unknown,%d}", mode)
	}
	if p.header("BCC") != nil {
		*p = p.replace(propHeaders, p.headers().without("BCC").encode())
	}
	return nil
}

// headerKeys are the routing keys in CC or BCC: the long strings of the array.
func headerKeys(p *properties, name string) []string {
	var keys []string
	elements, _ := p.header(name).array()
	for _, v := range elements {
		if key, ok := v.text(); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
