package router

import (
	"fmt"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/admin"
	"cloudqueue/topology"
)

// Reasons of parking (G9), as status and the admin's commands name them.
const (
	ReasonUnroutable    = admin.ReasonUnroutable
	ReasonRefused       = admin.ReasonRefused
	ReasonTooLarge      = admin.ReasonTooLarge
	ReasonBadProperties = admin.ReasonBadProperties
)

// take reads the outcome of a publish. Only a confirm without a return, or a durable PARK, ends the offset.
func (l *inLane) take(p published) {
	l.unconfirmed--
	it, o := p.it, p.outcome
	if !isCut(o) {
		l.cuts.times = 0
	}
	if o.Kind == federation.Confirmed {
		l.retry.length = 0
		l.say(federation.StateRunning, "", "")
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
		l.repeat(it, "the broker refuses messages (basic.nack)", "look at max-length and alarms of the queues at the destination")
	default:
		l.lostChannel(it, o)
	}
}

func (l *inLane) returned(it *item, o federation.Outcome) {
	if l.route.OnUnroutable == topology.OnUnroutableHold {
		l.repeat(it, fmt.Sprintf("no queue is bound for a message (%d %s)", o.Code, o.Text), "bind a queue, or give the route on-unroutable: park")
		return
	}
	l.park(it, ReasonUnroutable, it.lastError)
}

// refused: this publish alone closed the channel, or a connection of the lane's own. 403 and 404 speak of the place: hold; the rest is
// the message's own, and what closes connections is tried some times, for the broker may have been unwell for a moment.
func (l *inLane) refused(it *item, o federation.Outcome) {
	l.channel.acquired = false
	if o.Code >= federation.CodeHard {
		it.closed++
	}
	switch again := l.search.found(o.Code, it.closed, time.Now()); {
	case again:
		l.repeat(it, fmt.Sprintf("the broker closes the connection over a message (%d %s): it is tried alone, and parked after %d times",
			o.Code, o.Text, closesBeforeParking), "")
	case federation.OverPlace(o.Code):
		l.repeat(it, fmt.Sprintf("the broker refuses the exchange (%d %s)", o.Code, o.Text),
			"rabbitmqctl set_permissions -p VHOST NAME '^cq\\.' '.*' '.*' (configure, write, read)")
	case o.Code == federation.CodeTooLarge:
		l.park(it, ReasonTooLarge, it.lastError)
	default:
		l.park(it, ReasonRefused, it.lastError)
	}
}

// repeat has an item published again later, flagged: a queue may hold a copy already.
func (l *inLane) repeat(it *item, reason, fix string) {
	l.fail(it)
	l.retryLater(reason, fix)
}

func (l *inLane) fail(it *item) {
	it.flagged = true
	l.mu.Lock()
	defer l.mu.Unlock()
	l.journal.Fail(it.at)
}

// lostChannel: nobody knows whether the broker has it. When some publish closed the channel, it is searched for; so is one over which the
// connection is cut again and again.
func (l *inLane) lostChannel(it *item, o federation.Outcome) {
	l.channel.acquired = false
	l.fail(it)
	if l.search.lost(o.Code) {
		l.r.log.Warn("connection closed over a publish", "lane", l.key.lane.String(), "dest", l.key.dest.String(), "code", o.Code, "err", o.Text)
	}
	if l.unconfirmed > 0 {
		return
	}
	failed := l.failedItems()
	if isCut(o) && len(failed) > 0 {
		l.cutOff(failed, o.Text)
	}
	l.search.lostAll(len(failed))
}

func (l *inLane) park(it *item, reason, text string) {
	it.reason, it.lastError = reason, text
	l.commits.park(it)
}
