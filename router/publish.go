package router

import (
	"context"
	"slices"
	"time"

	"cloudqueue/federation"
)

// publishMore publishes in lane order: first what failed, flagged, then what is new, as far as the broker, the window, the search for
// a bad publish, and reserved allow. It never waits.
func (l *inLane) publishMore(ctx context.Context) {
	failed, now := l.failedItems(), time.Now()
	l.search.rest(len(failed), l.unconfirmed, now)
	if l.brokerBusy() || l.retry.left(now) > 0 || !l.acquire(ctx) {
		return
	}
	for _, it := range failed {
		if !l.room() || !l.deliverable(ctx, it.arrival, it.entry) || !l.send(it) {
			return
		}
	}
	if l.isSettling() {
		return
	}
	for !l.search.seeks() && l.room() { // a search is for one of those that failed: no more of them
		a, e := l.next()
		if e == nil || !l.deliverable(ctx, a, e) || !l.publishNext(a, e) {
			return
		}
	}
}

// room tells whether one more may be unconfirmed.
func (l *inLane) room() bool {
	window := l.r.cfg.PublishWindow
	if l.route.Strict {
		window = 1
	}
	return l.unconfirmed < l.search.limit(window)
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

// publishNext publishes the next offset, or passes it, as the journal says. more: whether the one after it may be tried at this moment.
func (l *inLane) publishNext(a *arrival, e *federation.Entry) (more bool) {
	step, n, passed := l.step(a, e)
	switch {
	case passed:
		return true
	case step == federation.StepPublish, step == federation.StepFlagged:
		flagged := step == federation.StepFlagged || e.Flags&federation.EntryDuplicate != 0
		return l.send(&item{at: n, arrival: a, entry: e, flagged: flagged, firstTry: time.Now()})
	}
	return false // StepReserve: startCommit reserves. StepWait: an outcome or a void is to come
}

// step asks the journal about the next offset, and passes what ends without a publish.
func (l *inLane) step(a *arrival, e *federation.Entry) (step federation.Step, n federation.Offset, passed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = l.journal.Next()
	step = l.journal.Look(n, a.batch.Header.SealEpoch)
	how, skip := l.skips(a, e)
	switch {
	case step == federation.StepParked:
		l.passLocked(n, a, federation.EndParked)
		return step, n, true
	case step == federation.StepConflict:
		l.rejectLocked(a, federation.Conflict)
	case skip && (step == federation.StepPublish || step == federation.StepFlagged):
		l.passLocked(n, a, how)
		return step, n, true
	}
	return step, n, false
}

// passLocked takes an offset that ends without a publish.
func (l *inLane) passLocked(n federation.Offset, a *arrival, how federation.End) {
	l.journal.Take(n, a.batch.Header.SealEpoch)
	l.journal.End(n, how) // of one that was parked before it changes nothing
	l.releaseLocked()
}

// send publishes an item, or ends it. It is false when the broker takes nothing at this moment: then nothing has changed.
func (l *inLane) send(it *item) bool {
	if remaining(it.arrival, it.entry) == 0 {
		l.begun(it)
		l.end(it, federation.EndExpired)
		return true
	}
	m, err := l.outgoing(it)
	if err != nil {
		l.begun(it)
		l.park(it, ReasonBadProperties, err.Error())
		return true
	}
	busy, err := l.channel.pub.TryPublish(l.channel.incarnation, m, func(o federation.Outcome) { l.outcomes <- published{it, o} })
	if busy != nil || err != nil {
		l.channel.busy, l.channel.acquired = busy, err == nil
		return false
	}
	l.begun(it)
	l.unconfirmed++
	it.attempts++
	return true
}

// begun notes in the journal that an item is on its way: a new one is taken, one that failed is tried again.
func (l *inLane) begun(it *item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.items[it.at] == it {
		l.journal.Retry(it.at)
		return
	}
	l.journal.Take(it.at, it.arrival.batch.Header.SealEpoch)
	l.items[it.at] = it
}

// outgoing is the message as it is published. An error means that its properties cannot be merged.
func (l *inLane) outgoing(it *item) (federation.Message, error) {
	m := it.entry.Message
	dest, _ := addressOf(l.route, l.key.dest)
	m.Exchange, m.RoutingKey = dest.Address(&it.entry.Message)
	props, err := l.r.cfg.Properties.Deliver(m.Properties, l.edit(it))
	m.Properties = props
	return m, err
}

func (l *inLane) edit(it *item) DeliveryEdit {
	h := &it.arrival.batch.Header
	return DeliveryEdit{
		ID:          federation.BatchName{Lane: h.Lane, Generation: h.Generation, First: it.at}.String(),
		Origin:      h.Lane.Origin,
		Path:        slices.Concat(it.entry.Path, []federation.SiteID{h.Lane.Origin}, it.arrival.side.Path),
		Time:        h.SealedAt.Add(-it.entry.Age),
		Duplicate:   it.flagged,
		Remaining:   remaining(it.arrival, it.entry),
		TrustUserID: l.route.TrustUserID,
	}
}

// skips tells whether an offset ends without a publish, and how.
func (l *inLane) skips(a *arrival, e *federation.Entry) (federation.End, bool) {
	bit := uint64(1) << indexOf(a.batch.Header.Destinations, l.key.dest)
	switch {
	case e.Kind == federation.EntryTombstone && parksAtOrigin(e.Reason):
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
