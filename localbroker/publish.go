package localbroker

import (
	"context"
	"errors"
	"fmt"

	"cloudqueue/federation"
	"cloudqueue/localbroker/amqpwire"
)

// ErrIncarnationOver: nothing was sent, because the publisher's incarnation is over. Acquire begins the next one.
var ErrIncarnationOver = errors.New("the channel is over")

// TryPublish sends m as mandatory and later calls outcome, as the contract of Publisher says. It never waits. Unless
// both results are nil nothing of m was or will be sent, and outcome is never called: with again the window is full,
// the socket is behind or the broker has an alarm, and once it is closed m may be tried again; the one error is
// ErrIncarnationOver. What was handed to the socket's buffer may have been sent, and ends Unknown when the incarnation
// does first.
//
// m must not change before its outcome. Two messages that are equal in every byte and unanswered at the same time may
// both end Unknown with code 312 (basic.return's "no route"), when the broker returns one of them.
func (p *Publisher) TryPublish(incarnation uint64, m federation.Message, outcome func(federation.Outcome)) (
	again <-chan struct{}, err error) {
	c := amqpwire.Content{
		Exchange: m.Exchange, Key: m.RoutingKey, Mandatory: true, Properties: m.Properties, Body: m.Body}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.current
	if t == nil || t.incarnation != incarnation {
		return nil, ErrIncarnationOver
	}
	if t.window.full() || len(p.told) >= len(t.window.slots) {
		return p.changed.wait(), nil
	}
	if text := t.tooLarge(&c); text != "" {
		p.settle(outcome, federation.Outcome{Kind: federation.TooLarge, Text: text})
		return nil, nil
	}
	again, err = t.ch.wire.publish(t.session.client.Config.FrameSize, &c)
	if err != nil {
		return nil, ErrIncarnationOver
	}
	if again == nil {
		t.window.add(m, outcome)
	}
	return again, nil
}

// Publish is TryPublish that waits. Errors: ErrIncarnationOver, ctx's; after one nothing of m was or will be sent, and
// outcome is never called.
func (p *Publisher) Publish(ctx context.Context, incarnation uint64, m federation.Message,
	outcome func(federation.Outcome)) error {
	for {
		again, err := p.TryPublish(incarnation, m, outcome)
		if again == nil {
			return err
		}
		select { // after again it is tried once more
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tooLarge says why a message cannot be sent; empty when it can.
func (t *tenure) tooLarge(c *amqpwire.Content) string {
	limit := t.publisher.broker.cfg.MaxMessageSize
	if shown := t.session.bodyLimit.Load(); shown > 0 {
		limit = min(limit, shown)
	}
	frameMax := t.session.client.Config.FrameSize
	switch {
	case len(c.Exchange) > federation.MaxShortString || len(c.Key) > federation.MaxShortString:
		return fmt.Sprintf("the exchange or the routing key has more than %d bytes", federation.MaxShortString)
	case int64(len(c.Body)) > limit:
		return fmt.Sprintf("the body has %d bytes, over the limit of %d", len(c.Body), limit)
	case !c.FitsHeader(frameMax):
		return fmt.Sprintf("the properties have %d bytes, over what fits a frame of %d", len(c.Properties), frameMax)
	}
	return ""
}

// settle queues an outcome to be told. The caller holds mu.
func (p *Publisher) settle(outcome func(federation.Outcome), result federation.Outcome) {
	p.told = append(p.told, settled{outcome, result})
	wakeUp(p.wake)
}
