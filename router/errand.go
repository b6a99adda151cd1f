package router

import (
	"context"
	"time"
)

// errand is something that run asks of the broker and does not wait for: until it is answered nothing is published, while journal,
// answers and receipts go on.
type errand struct {
	question func(context.Context) error // runs on a goroutine of its own
	then     func(error)                 // takes the answer
	late     func()                      // says what is waited for
	asked    time.Time
	answer   chan error // capacity 1
}

// errandLate is when status says that an errand is waited for (chosen: many times what a broker in good health takes).
const errandLate = 2 * time.Second

func (l *inLane) ask(ctx context.Context, e errand) {
	e.asked, e.answer = time.Now(), make(chan error, 1)
	l.errand = &e
	l.r.start(func() {
		e.answer <- e.question(ctx)
		l.poke()
	})
}

// waits tells whether the broker has still to answer, or to take more, before anything can be published.
func (l *inLane) waits() bool {
	if e := l.errand; e != nil {
		select {
		case err := <-e.answer:
			l.errand = nil
			e.then(err)
		default:
			if time.Since(e.asked) >= errandLate {
				e.late()
			}
			return true
		}
	}
	select {
	case <-l.more:
		l.more = nil
	default:
	}
	return l.more != nil
}

// showAlarm says what a lane waits for whose publishes are not answered, or not taken, because of an alarm of the broker.
func (l *inLane) showAlarm() {
	if l.unconfirmed == 0 && l.more == nil {
		return
	}
	if s := l.pub.State(); s.State == "alarm" {
		l.say("held", s.Reason, s.Fix)
	}
}

// acquire opens a channel with the owner lock, on the connection that is wanted. First every outcome of the one before has to be in.
func (l *inLane) acquire(ctx context.Context) bool {
	ready := l.acquired && l.aside == l.apart
	if ready || l.unconfirmed > 0 {
		return ready
	}
	var incarnation uint64
	apart := l.apart
	l.ask(ctx, errand{
		question: func(ctx context.Context) (err error) {
			incarnation, err = l.pub.Acquire(ctx, apart)
			return err
		},
		then: func(err error) {
			if err != nil {
				l.hold("no publishing channel: "+err.Error(), "")
				return
			}
			l.aside = apart
			l.useChannel(incarnation)
		},
		late: func() {
			s := l.pub.State()
			l.say("held", "no publishing channel: "+s.Reason, s.Fix)
		},
	})
	return false
}

func (l *inLane) useChannel(incarnation uint64) {
	l.incarnation, l.acquired, l.exchanges = incarnation, true, map[string]bool{}
	if len(l.failedItems()) == 0 { // otherwise it is held until one of them is confirmed
		l.say("running", "", "")
	}
}
