package localbroker

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// connector keeps one connection to the broker: it dials, and when the session ends for whatever reason it dials again.
type connector struct {
	name   string // consuming, publishing
	cfg    *Config
	target *target
	box    *stateBox

	mu      sync.Mutex // guards what follows
	session *session   // nil while there is none
	changed signal
	next    time.Time // of the next attempt; zero while there is a session or an attempt
	product string    // what the broker said of itself last
	version string
}

const (
	steady       = 10 * time.Second // a session that lasted longer was a good one: dial again at once
	closingGrace = 2 * time.Second  // for the goodbye of a clean stop
)

// run keeps the connection until ctx ends.
func (c *connector) run(ctx context.Context) {
	retry := backoff{least: c.cfg.RetryMin, most: c.cfg.RetryMax}
	for ctx.Err() == nil {
		started := time.Now()
		err := c.serve(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(started) > steady {
			retry.reset()
		}
		pause := retry.next()
		reason, fix := explainConnection(err)
		c.box.set(stateDown, reason, fix)
		c.setNext(time.Now().Add(pause))
		wait(ctx, pause, nil)
		c.setNext(time.Time{})
	}
	c.box.set(stateClosed, "", "")
}

// serve dials and keeps one session until it ends.
func (c *connector) serve(ctx context.Context) error {
	if c.box.get().State != stateDown { // while it stays down the reason is worth more
		c.box.set(stateConnecting, "", "")
	}
	s, err := dial(ctx, c.cfg, c.target, c.name)
	if err != nil {
		return err
	}
	c.publish(s)
	c.box.set(stateRunning, "", "")
	select { // when both are ready the session is closed and gone either way
	case <-s.wire.gone:
	case <-ctx.Done():
	}
	c.publish(nil)
	if ctx.Err() != nil {
		s.close(closingGrace)
		return ctx.Err()
	}
	s.finish()
	return s.wire.reason()
}

func (c *connector) setNext(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = at
}

func (c *connector) publish(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	if s != nil {
		c.product, c.version = s.broker()
	}
	c.changed.fire()
}

// wait gives the session, as soon as there is one.
func (c *connector) wait(ctx context.Context, wake <-chan struct{}) (*session, error) {
	for {
		c.mu.Lock()
		s, changed := c.session, c.changed.wait()
		c.mu.Unlock()
		if s != nil {
			return s, nil
		}
		select { // after changed or wake everything is looked at again
		case <-changed:
		case <-wake:
			return nil, errWoken
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errWoken = errors.New("something else to do")

// about fills in what is known beside the state.
func (c *connector) about() (nextRetry time.Time, product, version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next, c.product, c.version
}

// status is the state, with the alarm of the session laid over it.
func (c *connector) status() federation.PartState {
	state := c.box.get()
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return state
	}
	if reason, since := s.wire.alarm(); reason != "" {
		return federation.PartState{State: stateAlarm, Reason: reason, Fix: fixAlarm, Since: since}
	}
	return state
}

const fixAlarm = "free memory or disk at the broker: rabbitmq-diagnostics alarms"

// explainConnection says why there is no connection and what to do.
func explainConnection(err error) (reason, fix string) {
	if reason, fix, limited := explainLimit(err); limited {
		return reason, fix
	}
	code, text := fault(err)
	switch {
	case errors.Is(err, amqp.ErrSASL):
		return "the broker offers no login mechanism that we know",
			"add auth_mechanism=amqplain or external to the broker URL"
	case code == amqp.AccessRefused || errors.Is(err, amqp.ErrCredentials):
		return "the broker refuses the user name or the password",
			"check username and password in the router's file (rabbitmqctl authenticate_user NAME), " +
				"then restart the router: it reads the password when it starts"
	case code == amqp.NotAllowed && strings.Contains(text, "vhost"):
		return text, "check the vhost in the broker URL; rabbitmqctl list_vhosts; " +
			"rabbitmqctl set_permissions -p VHOST NAME '^cq\\.' '.*' '.*'"
	case code != 0 && code != amqp.ConnectionForced:
		return closedError{&amqp.Error{Code: code, Reason: text}}.Error(),
			"the broker's log says more: rabbitmq-diagnostics log_location"
	}
	return err.Error(), "check that the broker runs and that the broker URL names it: rabbitmq-diagnostics listeners"
}
