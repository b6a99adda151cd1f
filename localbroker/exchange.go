package localbroker

import (
	"context"
	"fmt"

	amqp "github.com/rabbitmq/amqp091-go"
)

// control makes calls one after the other, on a channel that it opens again when a refusal has closed it. Messages
// never use it, so a refusal disturbs nobody.
type control struct {
	session *session
	atOnce  bool // the first channel: an error instead of a wait while all are in use
	ch      *channel
}

func (c *control) do(ctx context.Context, what string, call func(*amqp.Channel) error) error {
	if c.ch == nil {
		ch, err := c.session.openSeated(ctx, nil, c.atOnce)
		if err != nil {
			return err
		}
		c.ch, c.atOnce = ch, false // what a refusal closes is free for the next one
	}
	err := c.ch.call(ctx, what, call)
	if err != nil {
		c.close()
	}
	return err
}

func (c *control) close() {
	if c.ch != nil {
		c.ch.leave()
		c.ch = nil
	}
}

// checkExchange is a passive declaration. The error holds the broker's code.
func (c *control) checkExchange(ctx context.Context, name string) error {
	return c.do(ctx, "look for the exchange", func(lib *amqp.Channel) error {
		// the type is not compared
		return lib.ExchangeDeclarePassive(name, amqp.ExchangeDirect, true, false, false, false, nil)
	})
}

func (c *control) declareExchange(ctx context.Context, name, kind string) error {
	return c.do(ctx, "declare the exchange", func(lib *amqp.Channel) error {
		return lib.ExchangeDeclare(name, kind, true, false, false, false, nil)
	})
}

// CheckExchange asks whether an exchange exists, on a channel of its own. A missing one is declared durably with
// declareType, or is ErrMissing when that is empty. Other errors: ctx's, the broker's refusal (no permission), a lost
// connection.
func (b *Broker) CheckExchange(ctx context.Context, name, declareType string) error {
	if name == "" {
		return nil // the default exchange always exists
	}
	s, err := b.consuming.wait(ctx, nil) // not the publishing connection: an alarm would hold it
	if err != nil {
		return err
	}
	calls := &control{session: s}
	defer calls.close()
	err = calls.checkExchange(ctx, name)
	if code, _ := fault(err); code != amqp.NotFound {
		return err
	}
	if declareType == "" {
		return fmt.Errorf("exchange %q: %w", name, ErrMissing)
	}
	return calls.declareExchange(ctx, name, declareType)
}
