package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/check"
)

// PublisherConfig describes one publisher of one lane.
type PublisherConfig struct {
	URL        string
	Exchange   string
	RoutingKey string
	Lane       string  // written into the bodies
	Seed       uint64  // of the bodies
	Size       int     // of the bodies in bytes; 0 is 1024
	Rate       float64 // publishes per second; 0 is as fast as confirms allow
	Window     int     // publishes without an outcome at most; 0 is 1000
	Count      int     // messages to get confirmed; 0 is until Finish

	// Consumed, with MaxAhead, closes the loop: nothing is published while MaxAhead publishes are not consumed.
	Consumed func() int
	MaxAhead int
}

// Publisher publishes mandatory, persistent messages with confirms, over one connection after the other.
type Publisher struct {
	config    PublisherConfig
	generator *Generator
	finish    chan struct{}
	once      sync.Once
	hurried   atomic.Bool

	// Owned by Run.
	retries []uint64  // indexes whose outcome stayed unknown, oldest first
	fresh   int       // messages published, without retries
	next    time.Time // when the next new publish is due

	mu        sync.Mutex        // guards what others may look at while Run works
	published []check.Published // index i+1 at i
	confirmed int
}

// NewPublisher makes a publisher; Run starts it.
func NewPublisher(config PublisherConfig) *Publisher {
	if config.Size == 0 {
		config.Size = 1024
	}
	if config.Window == 0 {
		config.Window = 1000
	}
	return &Publisher{config: config, generator: NewGenerator(config.Seed, config.Size), finish: make(chan struct{})}
}

// Finish lets Run end when everything published so far is confirmed. It may be called more than once.
func (p *Publisher) Finish() { p.once.Do(func() { close(p.finish) }) }

// Hurry lets Run publish as fast as confirms allow, whatever the Rate, until it is told false. Any goroutine may call it.
func (p *Publisher) Hurry(hurried bool) { p.hurried.Store(hurried) }

// Run publishes until Count messages or, after Finish, all of them are confirmed, however often the broker ends its
// connection. It returns an error only when ctx ends first. A message that the broker returned is not repeated.
func (p *Publisher) Run(ctx context.Context) error {
	return keepTrying(ctx, p.config.URL, func(conn *amqp.Connection) error { return p.publishOn(ctx, conn) })
}

// Published is a copy of what is known of every publish so far.
func (p *Publisher) Published() []check.Published {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]check.Published(nil), p.published...)
}

// Counts says how many publishes there were and how many of them are confirmed.
func (p *Publisher) Counts() (published, confirmed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.published), p.confirmed
}

// session is the publisher's work on one connection.
type session struct {
	*Publisher
	channel  *amqp.Channel
	confirms chan amqp.Confirmation
	returns  chan amqp.Return
	closed   chan *amqp.Error
	pending  []uint64 // indexes without an outcome, in the order of their delivery tags
	body     []byte
}

// publishOn returns nil when there is nothing left to do. Otherwise what is pending becomes a retry.
func (p *Publisher) publishOn(ctx context.Context, conn *amqp.Connection) error {
	s := &session{Publisher: p}
	if err := s.open(conn); err != nil {
		return err
	}
	defer s.giveUp()
	for !s.done() {
		if err := s.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open makes a channel in confirm mode. Its listeners hold a whole window, as the client gives up on one that is full.
func (s *session) open(conn *amqp.Connection) error {
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	s.channel = channel
	s.confirms = channel.NotifyPublish(make(chan amqp.Confirmation, s.config.Window))
	s.returns = channel.NotifyReturn(make(chan amqp.Return, s.config.Window))
	s.closed = channel.NotifyClose(make(chan *amqp.Error, 1))
	return channel.Confirm(false)
}

// giveUp makes retries of what is pending, before those that this session did not reach.
func (s *session) giveUp() {
	s.retries = append(s.pending, s.retries...)
}

func (s *session) done() bool {
	if len(s.pending) > 0 || len(s.retries) > 0 {
		return false
	}
	return !s.wantsMore()
}

// wantsMore says whether another new message is to be published some time.
func (s *session) wantsMore() bool {
	if s.config.Count > 0 && s.fresh >= s.config.Count {
		return false
	}
	select {
	case <-s.finish:
		return false
	default:
		return true
	}
}

// step does one thing: takes an outcome that is there, publishes if it is time to, or waits for one of both.
func (s *session) step(ctx context.Context) error {
	select {
	case c, ok := <-s.confirms:
		return s.outcome(c, ok)
	default:
	}
	wait, mayPublish := s.due(time.Now())
	if mayPublish && wait <= 0 {
		return s.publish(ctx)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select { // any order will do: the next step looks at everything again
	case c, ok := <-s.confirms:
		return s.outcome(c, ok)
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// due says how long to wait before looking again, and whether a publish is allowed then.
func (s *session) due(now time.Time) (wait time.Duration, mayPublish bool) {
	const look = time.Millisecond // how often to look at what nobody signals
	switch {
	case len(s.pending) >= s.config.Window:
		return time.Second, false
	case len(s.retries) > 0:
		return 0, true
	case !s.wantsMore():
		return time.Second, false
	case s.config.MaxAhead > 0 && s.fresh-s.config.Consumed() >= s.config.MaxAhead:
		return look, false
	case s.config.Rate <= 0 || s.hurried.Load():
		return 0, true
	}
	if wait = s.next.Sub(now); wait > 0 {
		return min(wait, 100*look), false // Finish is looked for in between
	}
	return 0, true
}

// publish sends a retry, or else a new message.
func (s *session) publish(ctx context.Context) error {
	index := s.take(time.Now())
	s.pending = append(s.pending, index)
	s.body = s.generator.Append(s.body[:0], Event{Lane: s.config.Lane, Index: index, Sent: time.Now()})
	return s.channel.PublishWithContext(ctx, s.config.Exchange, s.config.RoutingKey, true, false, amqp.Publishing{
		ContentType:  "application/json",
		DeliveryMode: amqp.Persistent,
		Body:         s.body,
	})
}

// take makes the next publish: its index.
func (s *session) take(now time.Time) uint64 {
	var p check.Published
	if len(s.retries) > 0 {
		p.RetryOf, s.retries = s.retries[0], s.retries[1:]
	} else {
		s.fresh++
		s.pace(now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = append(s.published, p)
	return uint64(len(s.published))
}

// pace sets when the next new message is due. After an interruption the missed ones are not made up for in a burst.
func (s *session) pace(now time.Time) {
	if s.config.Rate <= 0 || s.hurried.Load() {
		return
	}
	const slack = 50 * time.Millisecond
	if s.next.Before(now.Add(-slack)) {
		s.next = now
	}
	s.next = s.next.Add(time.Duration(float64(time.Second) / s.config.Rate))
}

// outcome takes the oldest pending publish's answer: the client hands confirms out in the order of their tags. A negative
// answer says nothing about the queue (decisions.md, M2).
func (s *session) outcome(c amqp.Confirmation, ok bool) error {
	if err := s.takeReturns(); err != nil {
		return err
	}
	if !ok {
		return s.closeReason()
	}
	index := s.pending[0]
	s.pending = s.pending[1:]
	if !c.Ack {
		s.retries = append(s.retries, index)
		return nil
	}
	s.confirm(index)
	return nil
}

func (s *session) confirm(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := &s.published[index-1]; p.Outcome == check.Unknown {
		p.Outcome = check.Confirmed
		s.confirmed++
	}
}

// takeReturns marks what the broker returned. A return comes before its confirm, so it is there when the confirm is.
func (s *session) takeReturns() error {
	for {
		select {
		case r, ok := <-s.returns:
			if !ok {
				return nil
			}
			e, err := ParseEvent(r.Body)
			if err != nil {
				return fmt.Errorf("returned message: %w", err)
			}
			s.mu.Lock()
			s.published[e.Index-1].Outcome = check.Returned
			s.mu.Unlock()
		default:
			return nil
		}
	}
}

func (s *session) closeReason() error {
	select {
	case reason := <-s.closed:
		if reason != nil {
			return reason
		}
	default:
	}
	return errors.New("the connection ended")
}
