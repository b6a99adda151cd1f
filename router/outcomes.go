package router

import (
	"fmt"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/router/spool"
	"cloudqueue/topology"
)

// Reasons of parking (G9), as status and the admin's commands name them.
const (
	ReasonUnroutable    = admin.ReasonUnroutable
	ReasonRefused       = admin.ReasonRefused
	ReasonTooLarge      = admin.ReasonTooLarge
	ReasonBadProperties = admin.ReasonBadProperties
)

// closesOverPublish tells whether a channel, or the connection of several, was closed over a publish.
func closesOverPublish(code uint16) bool {
	return federation.OverPublish(code) || code >= federation.CodeHard
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

// refused: this publish alone closed the channel, or a connection of the lane's own. 403 and 404 speak of the place: hold; the rest is
// the message's own, and what closes connections is tried some times, for the broker may have been unwell for a moment.
func (l *inLane) refused(it *item, o federation.Outcome) {
	l.acquired, l.overPublish, l.probe = false, false, 0
	if o.Code >= federation.CodeHard {
		l.apartUntil = time.Now().Add(apartStay)
		if it.closed++; it.closed < closesBeforeParking {
			l.probe = 1
			l.again(it, fmt.Sprintf("the broker closes the connection over a message (%d %s): it is tried alone, and parked after %d times", o.Code, o.Text, closesBeforeParking), "")
			return
		}
	}
	if federation.OverPlace(o.Code) {
		l.again(it, fmt.Sprintf("the broker refuses the exchange (%d %s)", o.Code, o.Text), "rabbitmqctl set_permissions -p VHOST NAME '^cq\\.' '.*' '.*' (configure, write, read)")
		return
	}
	reason := ReasonRefused
	if o.Code == federation.CodeTooLarge {
		reason = ReasonTooLarge
	}
	l.park(it, reason, it.lastError)
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
	l.goApart(o)
	if l.unconfirmed > 0 || !l.overPublish {
		return
	}
	l.overPublish = false
	if l.probe == 0 {
		l.probe = len(l.failedItems())
	}
	l.probe = max(1, l.probe/2)
}

// How a lane deals with a broker that closes the connection over a publish.
const (
	// closesBeforeParking is how often a message that stands alone may do it (chosen: an internal error may be the broker's own, once or
	// twice; each try costs a connection).
	closesBeforeParking = 3
	// apartStay is how long the lane then keeps a connection of its own (chosen: where one such message comes more do, and each one that is
	// published on the shared connection costs every lane there a flagged repeat of its window).
	apartStay = time.Minute
)

// goApart has the lane search on a connection of its own when some publish, of this lane or of another, closed the shared one.
func (l *inLane) goApart(o federation.Outcome) {
	if o.Code < federation.CodeHard || l.apart {
		return
	}
	l.apart = true
	l.r.log.Warn("connection closed over a publish", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "code", o.Code, "err", o.Text)
}

// endSearch ends the search for a bad publish when nothing is left of what failed, and later the lane's stay on its own connection.
func (l *inLane) endSearch() {
	if l.probe == 0 && !l.apart || len(l.failedItems()) > 0 {
		return
	}
	if l.unconfirmed == 0 {
		l.probe = 0
	}
	if l.probe == 0 && !time.Now().Before(l.apartUntil) {
		l.apart = false
	}
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
