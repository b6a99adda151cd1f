package router

import (
	"context"
	"time"

	"cloudqueue/federation"
)

// channel is the publishing channel of a lane that ends here, as far as run knows of it.
type channel struct {
	pub         Publisher // the same as long as the lane runs
	incarnation uint64
	acquired    bool
	aside       bool            // it is on a connection of its own
	exchanges   map[string]bool // known to exist
	errand      *errand         // what the broker was asked and has not answered; nil: nothing
	busy        <-chan struct{} // closed when the broker takes more; nil: it does
	alarmDue    time.Time       // when an alarm is asked for again
}

// brokerBusy tells whether the broker has still to answer, or to take more, before anything can be published.
func (l *inLane) brokerBusy() bool {
	c := &l.channel
	if e := c.errand; e != nil {
		c.errand = nil // its answer may lead to the next one
		if !e.look() {
			c.errand = e
			return true
		}
	}
	select {
	case <-c.busy:
		c.busy = nil
	default:
	}
	return c.busy != nil
}

// alarmLook is how often a lane with something unanswered asks for an alarm: it costs locks of the publisher.
const alarmLook = time.Second

// showAlarm says what a lane waits for whose publishes are not answered, or not taken, because of an alarm of the broker. Copies may keep
// coming meanwhile, until the window is full.
func (l *inLane) showAlarm(now time.Time) {
	if l.unconfirmed == 0 && l.channel.busy == nil || now.Before(l.channel.alarmDue) {
		return
	}
	l.channel.alarmDue = now.Add(alarmLook)
	if s := l.channel.pub.State(); s.State == federation.StateAlarm {
		l.hold(s.Reason, s.Fix)
	}
}

// acquire opens a channel with the owner lock, on the connection that is wanted. First every outcome of the one before has to be in.
func (l *inLane) acquire(ctx context.Context) bool {
	apart := l.search.apart
	ready := l.channel.acquired && l.channel.aside == apart
	if ready || l.unconfirmed > 0 {
		return ready
	}
	pub := l.channel.pub
	var incarnation uint64
	l.ask(ctx, errand{
		question: func(ctx context.Context) (err error) {
			incarnation, err = pub.Acquire(ctx, apart)
			return err
		},
		then: func(err error) {
			if err != nil {
				l.retryLater("no publishing channel: "+err.Error(), "")
				return
			}
			l.useChannel(incarnation, apart)
		},
		late: func() {
			s := pub.State()
			l.hold("no publishing channel: "+s.Reason, s.Fix)
		},
	})
	return false
}

func (l *inLane) useChannel(incarnation uint64, aside bool) {
	c := &l.channel
	c.incarnation, c.aside, c.acquired, c.exchanges = incarnation, aside, true, map[string]bool{}
	if len(l.failedItems()) == 0 { // otherwise it is held until one of them is confirmed
		l.say(federation.StateRunning, "", "")
	}
}
