package router

import (
	"context"
	"time"
)

// errand is something that run asks of the broker and does not wait for: until it is answered nothing is published, while journal,
// answers and receipts go on.
type errand struct {
	// question runs on a goroutine of its own, beside run. Of the lane it may use the publisher alone; whatever else it needs it brings.
	question func(context.Context) error
	then     func(error) // takes the answer, on run's goroutine
	late     func()      // says what is waited for, on run's goroutine
	asked    time.Time
	answer   chan error // capacity 1
}

// errandLate is when status says that an errand is waited for (chosen: many times what a broker in good health takes).
const errandLate = 2 * time.Second

func (l *inLane) ask(ctx context.Context, e errand) {
	e.asked, e.answer = time.Now(), make(chan error, 1)
	l.channel.errand = &e
	l.r.start(func() {
		e.answer <- e.question(ctx)
		l.poke()
	})
}

// look takes the answer, or says that it is late. It tells whether the errand is over.
func (e *errand) look() (over bool) {
	select {
	case err := <-e.answer:
		e.then(err)
		return true
	default:
	}
	if time.Since(e.asked) >= errandLate {
		e.late()
	}
	return false
}
