package embedded

import "time"

// deathReason is why a message left a queue unconsumed; it is the text in x-death.
type deathReason string

const (
	deathRejected  deathReason = "rejected"
	deathExpired   deathReason = "expired"
	deathMaxLength deathReason = "maxlen"
)

// death is a message on its way to a dead-letter exchange. It is published when the operation that caused it is over
// (Broker.unlock), so that a queue never changes while it works on itself.
type death struct {
	queue   *queue
	message *message
	reason  deathReason
	at      time.Time
}

func (q *queue) deadLetter(m *message, reason deathReason) {
	if q.options.hasDeadLetter {
		q.broker.deaths = append(q.broker.deaths, death{q, m, reason, time.Now()})
	}
}

// bury publishes one dead message. Nobody hears of it when the exchange is missing or nothing is bound to it.
func (b *Broker) bury(d death) {
	x := b.exchanges[d.queue.options.deadLetter]
	if x == nil {
		return
	}
	m := d.letter()
	deaths, _ := m.properties.header("x-death").array()
	for _, q := range b.route(x, m, m.keys) {
		if d.reason == deathRejected || !cyclic(q.name, deaths) {
			q.enqueue(m)
		}
	}
}

// letter is the message as the dead-letter exchange gets it: x-death updated, the expiration gone, and, when the queue
// names a key, that key and no CC.
func (d death) letter() *message {
	o := &d.queue.options
	headers := d.headers()
	keys := d.message.keys
	if o.hasDeadKey {
		keys = []string{o.deadKey}
		headers = headers.without("CC")
	}
	p := d.message.properties.replace(propHeaders, headers.encode())
	if p.has(propExpiration) {
		p = p.replace(propExpiration, nil)
	}
	return &message{exchange: o.deadLetter, keys: keys, properties: p, body: d.message.body}
}

// headers adds this death to x-death: the newest first, one table per queue and reason with a count.
//
//	count long · reason longstr · queue longstr · time timestamp · exchange longstr · routing-keys array of longstr
//	original-expiration longstr, when the message had an expiration
func (d death) headers() table {
	headers := d.message.properties.headers()
	old, isArray := headers.get("x-death").array()
	if headers.get("x-death") == nil {
		headers = headers.with("x-first-death-reason", textValue(string(d.reason))).
			with("x-first-death-queue", textValue(d.queue.name)).
			with("x-first-death-exchange", textValue(d.message.exchange))
	}
	if !isArray {
		old = nil
	}
	this, others := d.record(), make([]value, 0, len(old)+1)
	for _, v := range old {
		t, _ := v.table()
		if !d.sameAs(t) {
			others = append(others, v)
			continue
		}
		count, _ := t.get("count").integer()
		this = t.with("count", longValue(count+1))
	}
	return headers.with("x-death", arrayValue(append([]value{tableValue(this)}, others...)))
}

func (d death) sameAs(t table) bool {
	queue, _ := t.get("queue").text()
	reason, _ := t.get("reason").text()
	return queue == d.queue.name && reason == string(d.reason)
}

func (d death) record() table {
	keys := []value{textValue(d.message.key())}
	for _, key := range headerKeys(&d.message.properties, "CC") {
		keys = append(keys, textValue(key))
	}
	t := table{
		{"count", longValue(1)},
		{"reason", textValue(string(d.reason))},
		{"queue", textValue(d.queue.name)},
		{"time", timeValue(d.at.Unix())},
		{"exchange", textValue(d.message.exchange)},
		{"routing-keys", arrayValue(keys)},
	}
	if d.message.properties.has(propExpiration) {
		t = append(t, field{"original-expiration", textValue(d.message.properties.text(propExpiration))})
	}
	return t
}

// cyclic reports whether a queue has seen the message before and no consumer rejected it since: it would go round for
// ever.
func cyclic(queue string, deaths []value) bool {
	for _, v := range deaths {
		t, ok := v.table()
		if !ok {
			return false
		}
		if reason, _ := t.get("reason").text(); reason == string(deathRejected) {
			return false
		}
		if name, _ := t.get("queue").text(); name == queue {
			return true
		}
	}
	return false
}
