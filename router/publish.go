package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// ErrExchangeMissing is what Broker.CheckExchange wraps when the broker does not know the exchange.
var ErrExchangeMissing = errors.New("the exchange does not exist")

// Reasons of parking (G9), a fixed set.
const (
	ReasonUnroutable    = "unroutable"     // no queue is bound for it (312)
	ReasonRefused       = "refused"        // the broker closed the channel over it (406)
	ReasonTooLarge      = "too large"      // over the broker's frame or message size, or the route's
	ReasonBadProperties = "bad properties" // not valid AMQP properties, or a header of ours that cannot be merged
)

// AMQP reply codes that close a channel over one publish (section 1.1 of the specification). The first two speak of the
// place, the last of the message.
const (
	codeAccessRefused = 403
	codeNotFound      = 404
	codePrecondition  = 406
)

func closesOverPublish(code uint16) bool {
	return code == codeAccessRefused || code == codeNotFound || code == codePrecondition
}

// publishMore publishes in lane order: first what failed, flagged, then what is new, as far as the window, the search for
// a bad publish, and reserved allow.
func (l *inLane) publishMore(ctx context.Context) {
	if time.Now().Before(l.retryAt) || !l.acquire(ctx) {
		return
	}
	for _, it := range l.failedItems() {
		if !l.room() || !l.deliverable(ctx, it.arrival, it.entry) {
			return
		}
		l.send(ctx, it)
	}
	for l.room() {
		a, e := l.next()
		if e == nil || !l.deliverable(ctx, a, e) {
			return
		}
		it, more := l.takeNext(a, e)
		if it != nil {
			l.send(ctx, it)
		}
		if !more {
			return
		}
	}
}

// room tells whether one more may be unconfirmed.
func (l *inLane) room() bool {
	limit := l.r.cfg.PublishWindow
	if l.route.Strict {
		limit = 1
	}
	if l.probe > 0 {
		limit = min(limit, l.probe)
	}
	return l.unconfirmed < limit
}

func (l *inLane) failedItems() []*item {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*item
	for _, n := range l.journal.Failed() {
		out = append(out, l.items[n])
	}
	return out
}

// acquire opens a channel with the owner lock. After a channel ended, first every outcome of it has to be in.
func (l *inLane) acquire(ctx context.Context) bool {
	if l.acquired {
		return true
	}
	if l.unconfirmed > 0 {
		return false
	}
	short, cancel := context.WithTimeout(ctx, acquireLook)
	defer cancel()
	incarnation, err := l.pub.Acquire(short)
	if err != nil {
		s := l.pub.State()
		l.say("held", "no publishing channel: "+s.Reason, s.Fix)
		l.retryLater(time.Now())
		return false
	}
	l.incarnation, l.acquired, l.exchanges = incarnation, true, map[string]bool{}
	if len(l.failedItems()) == 0 { // otherwise it is held until one of them is confirmed
		l.say("running", "", "")
	}
	return true
}

// acquireLook bounds one wait for the broker, so that journal, answers and a clean stop are not kept waiting with it.
const acquireLook = 2 * time.Second

func (l *inLane) retryLater(now time.Time) {
	l.retryPause = min(max(2*l.retryPause, minPause), maxPause)
	l.retryAt = now.Add(l.retryPause)
}

// next is the entry at the next offset; nil when it is not here or its batch cannot be opened.
func (l *inLane) next() (*arrival, *federation.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.journal.Next()
	a := l.holding(n)
	if a == nil || a.entries == nil && (!l.roomFor(a) || !l.decode(a)) {
		return nil, nil
	}
	return a, &a.entries[n-a.batch.Header.First]
}

// roomFor bounds what is decoded at once: a window of well compressed batches is far more than its bytes. One is always
// opened; another one when an earlier one has ended. Callers hold mu.
func (l *inLane) roomFor(a *arrival) bool {
	return l.decoded == 0 || l.decoded+int(a.batch.Header.RawLength) <= maxDecoded
}

// maxDecoded is a lane's decoded batches (chosen: two of the largest).
const maxDecoded = 2 * federation.MaxRawBatch

// decode opens a batch when its turn comes. A batch that is not what its origin sealed is dropped and answered CORRUPT:
// the origin sends it again. Callers hold mu.
func (l *inLane) decode(a *arrival) bool {
	entries, err := a.batch.Open(l.coder)
	if err == nil {
		a.entries = entries
		l.decoded += int(a.batch.Header.RawLength)
		return true
	}
	v := federation.Corrupt
	if errors.Is(err, federation.ErrUnknownCritical) {
		v = federation.UnknownCritical
	}
	origin := string(l.key.lane.Origin)
	l.r.log.Debug("batch cannot be opened", "lane", l.key.lane.String(), "first", uint64(a.batch.Header.First), "err", err)
	l.sayLocked("held", origin+" sends a batch that cannot be opened ("+v.String()+")", "at "+origin+": "+verdictFix(v))
	l.reject(a, v)
	return false
}

// reject gives a held copy up with a verdict. Callers hold mu, so the answer is given elsewhere.
func (l *inLane) reject(a *arrival, v federation.Verdict) {
	l.discard(a)
	l.r.refused.add("copy: " + v.String())
	c := a.passed()
	l.r.start(func() { c.say(v, maxPause) })
}

// deliverable tells whether the place that a message goes to can be published to; otherwise the lane is held, with
// nothing taken.
func (l *inLane) deliverable(ctx context.Context, a *arrival, e *federation.Entry) bool {
	if _, skip := l.skips(a, e); skip {
		return true
	}
	dest, ok := addressOf(l.route, l.key.dest)
	if !ok {
		return l.hold("route "+string(l.key.lane.Route)+" is not in the topology", "apply a topology that has it, or give up what is stored: cloudqueue spool void")
	}
	exchange, _ := dest.Address(&e.Message)
	return l.exchangeReady(ctx, exchange)
}

func (l *inLane) hold(reason, fix string) bool {
	l.retryLater(time.Now())
	l.say("held", reason, fix)
	return false
}

// addressOf says where a destination's messages go at this broker. For a route that is gone that is known only for "same
// exchange and key".
func addressOf(route topology.Route, dest federation.Destination) (topology.RouteDestination, bool) {
	for _, d := range route.Destinations {
		if d.Destination == dest {
			return d, true
		}
	}
	return topology.RouteDestination{Destination: dest}, dest.Target == 0
}

// exchangeReady asks once per channel whether an exchange exists: a publish to a missing one would close the channel.
func (l *inLane) exchangeReady(ctx context.Context, name string) bool {
	if name == "" || l.exchanges[name] {
		return true
	}
	short, cancel := context.WithTimeout(ctx, acquireLook)
	defer cancel()
	err := l.r.cfg.Broker.CheckExchange(short, name, l.route.OnMissingExchange.Declare)
	switch {
	case err == nil:
		l.exchanges[name] = true
		return true
	case errors.Is(err, ErrExchangeMissing):
		return l.hold(fmt.Sprintf("exchange %q does not exist at this site's broker", name), "declare it, or give the route on-missing-exchange: {declare: {type: topic}}")
	default:
		return l.hold(fmt.Sprintf("exchange %q cannot be checked: %v", name, err),
			"check the broker: cloudqueue doctor; to declare it the router needs rabbitmqctl set_permissions -p VHOST NAME '^(cq\\.|EXCHANGE$)' '.*' '.*'")
	}
}

// takeNext takes the next offset as the journal says. more tells whether the one after it may be looked at.
func (l *inLane) takeNext(a *arrival, e *federation.Entry) (it *item, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.journal.Next()
	step := l.journal.Take(n, a.batch.Header.SealEpoch)
	switch step {
	case federation.StepPublish, federation.StepFlagged:
		return l.newItem(n, a, e, step == federation.StepFlagged), true
	case federation.StepParked:
		l.release()
		return nil, true
	case federation.StepConflict:
		l.reject(a, federation.Conflict)
	}
	return nil, false // StepReserve: startCommit reserves. StepWait: an outcome or a void is to come
}

// newItem is nil when the offset ends without a publish. Callers hold mu.
func (l *inLane) newItem(n federation.Offset, a *arrival, e *federation.Entry, flagged bool) *item {
	if how, skip := l.skips(a, e); skip {
		l.journal.End(n, how)
		l.release()
		return nil
	}
	it := &item{at: n, arrival: a, entry: e, flagged: flagged || e.Flags&federation.EntryDuplicate != 0, firstTry: time.Now()}
	l.items[n] = it
	return it
}

// skips tells whether an offset ends without a publish, and how.
func (l *inLane) skips(a *arrival, e *federation.Entry) (federation.End, bool) {
	bit := uint64(1) << indexOf(a.batch.Header.Destinations, l.key.dest)
	switch {
	case e.Kind == federation.EntryTombstone && e.Reason == reasonTooLarge:
		return federation.EndParked, true // at the origin
	case e.Kind == federation.EntryTombstone, e.Excluded&bit != 0:
		return federation.EndExcluded, true
	case remaining(a, e) == 0:
		return federation.EndExpired, true
	}
	return 0, false
}

func indexOf(dests []federation.Destination, d federation.Destination) int {
	for i, x := range dests {
		if x == d {
			return i
		}
	}
	return 63 // no destination has this bit: at most 48
}

// remaining is what is left of a message's lifetime: what it had when sealed, less its way and its wait here.
func remaining(a *arrival, e *federation.Entry) time.Duration {
	if e.TTL == federation.NoTTL {
		return federation.NoTTL
	}
	return max(0, e.TTL-a.side.Age-time.Since(a.at))
}

// send publishes an item, or ends it. While the broker has an alarm it waits, but not beyond a clean stop.
func (l *inLane) send(ctx context.Context, it *item) {
	if remaining(it.arrival, it.entry) == 0 {
		l.end(it, federation.EndExpired)
		return
	}
	m := it.entry.Message
	dest, _ := addressOf(l.route, l.key.dest)
	m.Exchange, m.RoutingKey = dest.Address(&it.entry.Message)
	props, err := l.r.cfg.Properties.Deliver(m.Properties, l.edit(it))
	if err != nil {
		l.park(it, ReasonBadProperties, err.Error())
		return
	}
	m.Properties = props
	l.mu.Lock()
	l.journal.Retry(it.at) // of one that failed; of a new one it changes nothing
	l.mu.Unlock()
	l.unconfirmed++
	it.attempts++
	l.pub.Publish(ctx, l.incarnation, m, func(o federation.Outcome) { l.outcomes <- published{it, o} })
}

func (l *inLane) edit(it *item) DeliveryEdit {
	h := &it.arrival.batch.Header
	path := append(append([]federation.SiteID(nil), it.entry.Path...), h.Lane.Origin)
	return DeliveryEdit{ID: federation.BatchName{Lane: h.Lane, Generation: h.Generation, First: it.at}.String(), Origin: h.Lane.Origin,
		Path: append(path, it.arrival.side.Path...), Time: h.SealedAt.Add(-it.entry.Age), Duplicate: it.flagged,
		Remaining: remaining(it.arrival, it.entry), TrustUserID: l.route.TrustUserID}
}
