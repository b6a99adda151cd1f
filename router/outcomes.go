package router

import (
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

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

// take reads the outcome of a publish. Only a confirm without a return, or a durable PARK, ends the offset.
func (l *inLane) take(p published) {
	l.unconfirmed--
	it, o := p.it, p.outcome
	if o.Kind == federation.Confirmed {
		l.retryPause = 0
		l.say("running", "", "")
		l.end(it, federation.EndDelivered)
	} else {
		it.lastError = fmt.Sprintf("%s: %d %s", o.Kind, o.Code, o.Text)
		l.takeFailure(it, o)
	}
	if l.probe > 0 && l.unconfirmed == 0 && len(l.failedItems()) == 0 {
		l.probe = 0
	}
}

func (l *inLane) takeFailure(it *item, o federation.Outcome) {
	switch o.Kind {
	case federation.Returned:
		l.returned(it, o)
	case federation.TooLarge:
		l.park(it, ReasonTooLarge, o.Text)
	case federation.Refused:
		l.refused(it, o)
	case federation.Nacked:
		l.again(it, "the broker refuses messages (basic.nack)", "look at max-length and alarms of the queues at the destination")
	default:
		l.lostChannel(it, o)
	}
}

func (l *inLane) returned(it *item, o federation.Outcome) {
	if l.route.OnUnroutable == topology.OnUnroutableHold {
		l.again(it, fmt.Sprintf("no queue is bound for a message (%d %s)", o.Code, o.Text), "bind a queue, or give the route on-unroutable: park")
		return
	}
	l.park(it, ReasonUnroutable, it.lastError)
}

// refused: this publish alone closed the channel. 403 and 404 speak of the place: hold; the rest is the message's own.
func (l *inLane) refused(it *item, o federation.Outcome) {
	l.acquired, l.overPublish, l.probe = false, false, 0
	if o.Code == codeAccessRefused || o.Code == codeNotFound {
		l.again(it, fmt.Sprintf("the broker refuses the exchange (%d %s)", o.Code, o.Text), "rabbitmqctl set_permissions -p VHOST NAME '^cq\\.' '.*' '.*' (configure, write, read)")
		return
	}
	l.park(it, ReasonRefused, it.lastError)
}

// again publishes an item later, flagged: a queue may hold a copy already.
func (l *inLane) again(it *item, reason, fix string) {
	l.fail(it)
	l.hold(reason, fix)
}

func (l *inLane) fail(it *item) {
	it.flagged = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Fail(it.at)
}

// lostChannel: nobody knows whether the broker has it. When some publish closed the channel, halves of what was
// unanswered are tried until that one is alone.
func (l *inLane) lostChannel(it *item, o federation.Outcome) {
	l.acquired = false
	l.fail(it)
	l.overPublish = l.overPublish || closesOverPublish(o.Code)
	if l.unconfirmed > 0 || !l.overPublish {
		return
	}
	l.overPublish = false
	if l.probe == 0 {
		l.probe = len(l.failedItems())
	}
	l.probe = max(1, l.probe/2)
}

func (l *inLane) park(it *item, reason, text string) {
	it.reason, it.lastError = reason, text
	l.parks = append(l.parks, it)
}

// parkRecord keeps the message with what its redrive needs: where it was, since when it is on its way, and what was left of its lifetime.
func (l *inLane) parkRecord(it *item) spool.Record {
	now, e, h := time.Now(), *it.entry, &it.arrival.batch.Header
	e.TTL = remaining(it.arrival, it.entry)
	if path := it.arrival.side.Path; len(e.Path)+len(path) <= federation.MaxPath {
		e.Path = append(slices.Clone(e.Path), path...)
	}
	return spool.ParkRecord{Lane: l.key.lane, Generation: l.gen, Offset: it.at, Destination: l.key.dest, Reason: it.reason, Errors: it.lastError,
		Attempts: it.attempts, First: it.firstTry, Last: now, Taken: h.SealedAt.Add(-e.Age), Entry: e}
}
