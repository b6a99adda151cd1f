package localbroker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cloudqueue/federation"
)

// Publisher publishes on one channel, with the owner lock held by that channel itself. Each channel is an incarnation;
// when it ends, everything unanswered is told and Acquire begins the next one. The contract of all its methods:
//
//   - Any goroutine may call any of them at any time; publishes leave in the order in which their calls return.
//   - Each publish that was taken ends in exactly one call of its outcome, also after a lost connection, Close, or the
//     end of Run.
//   - Outcomes are called one at a time, by the publisher's one goroutine, in the order in which the broker answered,
//     which need not be that of the publishes. An outcome must not block and must not publish: the next ones wait for
//     it.
//   - All outcomes of an incarnation are called before any of the next one.
//   - A publisher that had the lock takes it again by itself, within a minute, when its channel ended and nobody
//     acquires.
type Publisher struct {
	broker *Broker
	queue  string // of the owner lock
	box    *stateBox

	acquiring chan struct{} // capacity 1: who acquires holds it
	wake      chan struct{} // capacity 1, to run: there is something to tell
	quit      chan struct{} // closed by the first Close, or at the end of Run
	done      chan struct{} // closed when everything has been told and nothing runs

	mu          sync.Mutex // guards what follows, between the callers, run and the reading goroutine
	current     *tenure    // nil while there is none
	lost        time.Time  // when it became nil
	own         *session   // its own connection, see Acquire; nil while there is none
	incarnation uint64
	told        []settled // to be told by run, in order; bounded by two windows
	closed      bool
	changed     signal // the window has room, or the incarnation is over

	sessions sync.WaitGroup // of own connections that have not ended; Add only while not closed
}

// Publisher makes the publisher that holds the owner lock cq.owner.<site>.<index>. It works while Run does, until it is
// closed.
func (b *Broker) Publisher(index uint32) *Publisher {
	queue := fmt.Sprintf("cq.owner.%s.%d", b.cfg.Site, index)
	log := b.cfg.Logger.With("part", "publisher", "lock", queue)
	p := &Publisher{broker: b, queue: queue, box: newStateBox(log, stateWaiting, "not started"),
		acquiring: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), done: make(chan struct{})}
	b.adopt(p)
	return p
}

// Acquire waits until the channel is open in confirm mode and holds the lock, and names the incarnation. It gives the
// same one until that is over, or until it is asked for on the other connection: with apart the channel is on a
// connection of the publisher's own, which a publish can make the broker close without harm to other publishers;
// without, on the one that all share. State says what it waits for. Errors: ctx's, ErrClosed.
func (p *Publisher) Acquire(ctx context.Context, apart bool) (incarnation uint64, err error) {
	select {
	case p.acquiring <- struct{}{}:
		defer func() { <-p.acquiring }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	p.leave(ctx, !apart)
	// the lock is free milliseconds after its owner's end
	retry := backoff{least: p.broker.cfg.RetryMin / 4, most: p.broker.cfg.RetryMin * 4}
	for {
		incarnation, closed := p.held()
		if incarnation != 0 {
			return incarnation, nil
		}
		if closed {
			return 0, ErrClosed
		}
		incarnation, err := p.tryAcquire(ctx, apart)
		if err == nil {
			p.box.set(stateRunning, "", "")
			return incarnation, nil
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err != errWoken {
			p.explain(err)
			wait(ctx, pauseAfter(err, &retry), p.quit)
		}
	}
}

func (p *Publisher) held() (incarnation uint64, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return 0, p.closed
	}
	return p.current.incarnation, p.closed
}

// tryAcquire waits for a connection that takes something, and tries once.
func (p *Publisher) tryAcquire(ctx context.Context, apart bool) (uint64, error) {
	s, err := p.connection(ctx, apart)
	if err != nil {
		return 0, err
	}
	reason, changed := s.wire.watchAlarm()
	if reason == "" {
		return p.acquire(ctx, s)
	}
	p.box.set(stateAlarm, reason, fixAlarm)
	select { // after any of them everything is looked at again
	case <-changed:
	case <-p.quit:
	case <-ctx.Done():
	}
	return 0, errWoken
}

// run tells outcomes until ctx ends or Close.
func (p *Publisher) run(ctx context.Context) {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { p.watchIdle(watching) })
	p.tellUntilOver(ctx)
	stop()
	watch.Wait()
	p.retire(ctx)
}

func (p *Publisher) tellUntilOver(ctx context.Context) {
	for {
		select { // each round tells what there is
		case <-p.wake:
			p.tell()
		case <-p.quit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// tell calls the outcomes that are due.
func (p *Publisher) tell() {
	p.mu.Lock()
	due := p.told
	p.told = nil
	p.mu.Unlock()
	for _, s := range due {
		s.outcome(s.result)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told == nil {
		clear(due)
		p.told = due[:0]
	}
	p.changed.fire()
}

// retire gives the lock back and tells the last outcomes.
func (p *Publisher) retire(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	t := p.current
	p.mu.Unlock()
	if t != nil {
		p.release(ctx, t, "the publisher was closed")
	}
	p.closeOwn()
	p.sessions.Wait()
	p.tell()
	p.box.set(stateClosed, "", "")
	p.quitOnce()
	close(p.done)
}

// release closes the channel; confirms that still come count.
func (p *Publisher) release(ctx context.Context, t *tenure, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingGrace)
	defer cancel()
	if reason, _ := t.session.wire.alarm(); reason == "" {
		_ = t.ch.close(ctx) // over in any case
	} else {
		t.ch.leave() // the broker does not read
	}
	t.over(closing{text: why})
}

func (p *Publisher) quitOnce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	select {
	case <-p.quit:
	default:
		close(p.quit)
	}
}

// State tells what the publisher does or waits for.
func (p *Publisher) State() federation.PartState {
	state := p.box.get()
	if state.State != stateRunning {
		return state
	}
	p.mu.Lock()
	t, lost := p.current, p.lost
	p.mu.Unlock()
	if t == nil {
		return federation.PartState{State: stateWaiting, Reason: "the channel ended: it is opened again within a minute", Since: lost}
	}
	if reason, since := t.session.wire.alarm(); reason != "" {
		return federation.PartState{State: stateAlarm, Reason: reason, Fix: fixAlarm, Since: since}
	}
	return state
}

// Close gives the lock back. Nil: what was unanswered is Unknown, and everything has been told. Errors: ctx's; closing
// goes on all the same.
func (p *Publisher) Close(ctx context.Context) error {
	p.quitOnce()
	if p.broker.disown(p) {
		p.retire(ctx)
	}
	select { // when both are ready either answer is true
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
