package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
)

// watch follows one outlet of a lane while a run goes on: a consumer of a queue of its own, which gets what the judged
// queue gets. It tells what is in flight, and when a strike is over for whoever consumes.
type watch struct {
	lane      lane
	outlet    outlet
	publisher *load.Publisher

	mu   sync.Mutex // guards what the consumer's goroutine writes and strikes read
	seen []bool     // by index: it was consumed
	open []*wound   // strikes after which nothing newer was consumed yet
}

// wound is a strike as one outlet feels it.
type wound struct {
	at     time.Time
	healed chan time.Time // gets the moment at which a message came that was published after the strike
}

// watched names the queue that a watch consumes.
func (o outlet) watched() string { return o.queue + "-watched" }

// watch starts a consumer for every outlet; the function that it returns stops them.
func (w *World) watch(ctx context.Context, p *publishers) (watches []*watch, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	stop = func() { cancel(); running.Wait() }
	for _, l := range lanes {
		for _, o := range l.outlets {
			if err := w.purge(o); err != nil {
				stop()
				return nil, nil, fmt.Errorf("watch %s: %w", o, err)
			}
			this := &watch{lane: l, outlet: o, publisher: p.byLane[l.name()]}
			watches = append(watches, this)
			consumer := load.NewConsumer(load.ConsumerConfig{URL: w.brokerURL(o.site), Queue: o.watched(), Seed: seed, Handle: this.take})
			running.Go(func() { consumer.Run(ctx) }) // its error is that ctx ended
		}
	}
	return watches, stop, nil
}

// purge throws away what a run before left in a watched queue: its indexes mean other messages.
func (w *World) purge(o outlet) error {
	return onChannel(w.brokerURL(o.site), func(c *amqp.Channel) error {
		_, err := c.QueuePurge(o.watched(), false)
		return err
	})
}

// take notes one consumed message.
func (w *watch) take(r load.Received) {
	if !r.Intact || r.Lane != w.lane.name() {
		return // the judge of the other queue finds it
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for uint64(len(w.seen)) <= r.Index {
		w.seen = append(w.seen, false)
	}
	w.seen[r.Index] = true
	still := w.open[:0]
	for _, wound := range w.open {
		if r.Sent.After(wound.at) {
			wound.healed <- r.At
		} else {
			still = append(still, wound)
		}
	}
	w.open = still
}

// inFlight is how many publishes are confirmed and not consumed.
func (w *watch) inFlight() int { return w.missing(w.publisher.Published()) }

func (w *watch) missing(published []check.Published) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	missing := 0
	for i, p := range published {
		index := i + 1
		if p.Outcome == check.Confirmed && (index >= len(w.seen) || !w.seen[index]) {
			missing++
		}
	}
	return missing
}

// strike opens a wound that was made at the given moment.
func (w *watch) strike(at time.Time) *wound {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := &wound{at: at, healed: make(chan time.Time, 1)}
	w.open = append(w.open, made)
	return made
}

// passes says whether the lane's messages for this outlet pass one of the sites.
func (w *watch) passes(sites []string) bool {
	for _, site := range sites {
		if site == w.lane.site || site == w.outlet.site {
			return true
		}
	}
	return false
}
