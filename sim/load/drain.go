package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/check"
)

// Depth is the number of messages that are ready in a queue.
func Depth(ctx context.Context, url, queue string) (int, error) {
	depth := 0
	err := onConnection(ctx, url, func(conn *amqp.Connection) error {
		channel, err := conn.Channel()
		if err != nil {
			return err
		}
		q, err := channel.QueueDeclarePassive(queue, false, false, false, false, nil)
		depth = q.Messages
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("depth of %s: %w", queue, err)
	}
	return depth, nil
}

// Drain takes all messages out of a queue that nobody fills or consumes: its appearances, oldest first. A queue that was
// never consumed shows exactly what was published into it; an error leaves it half drained. What comes while it works is
// taken too: it returns when the queue is empty.
func Drain(ctx context.Context, url, queue string, seed uint64) ([]check.Appearance, error) {
	depth, err := Depth(ctx, url, queue)
	if err != nil {
		return nil, err
	}
	return drainFrom(ctx, url, queue, seed, depth)
}

// drainFrom is Drain with the depth that was seen.
func drainFrom(ctx context.Context, url, queue string, seed uint64, depth int) ([]check.Appearance, error) {
	d := drain{generator: NewGenerator(seed, MinSize)}
	err := onConnection(ctx, url, func(conn *amqp.Connection) error {
		channel, deliveries, err := consume(conn, queue, 2*ackBatch)
		if err != nil {
			return err
		}
		d.channel = channel
		if err := d.take(ctx, deliveries, depth); err != nil {
			return err
		}
		if err := d.rest(queue, deliveries); err != nil {
			return err
		}
		return channel.Close() // after the acks
	})
	if err != nil {
		return nil, fmt.Errorf("drain %s after %d messages, it had %d: %w", queue, len(d.appeared), depth, err)
	}
	return d.appeared, nil
}

type drain struct {
	channel   *amqp.Channel
	generator *Generator
	appeared  []check.Appearance
}

func (d *drain) add(m amqp.Delivery) {
	d.appeared = append(d.appeared, received(d.generator, m, time.Time{}).Appearance)
}

// take takes as many as the queue had.
func (d *drain) take(ctx context.Context, deliveries <-chan amqp.Delivery, depth int) error {
	for len(d.appeared) < depth {
		m, err := next(ctx, deliveries)
		if err != nil {
			return err
		}
		d.add(m)
		if len(d.appeared)%ackBatch == 0 || len(d.appeared) == depth {
			if err := d.channel.Ack(m.DeliveryTag, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest takes what came meanwhile: what the broker has sent already, then one by one until there is none.
func (d *drain) rest(queue string, deliveries <-chan amqp.Delivery) error {
	if err := d.channel.Cancel(consumerTag, false); err != nil {
		return err
	}
	for m := range deliveries { // it ends with the consumer
		d.add(m)
		if err := m.Ack(false); err != nil {
			return err
		}
	}
	for {
		m, ok, err := d.channel.Get(queue, false)
		if err != nil || !ok {
			return err
		}
		d.add(m)
		if err := m.Ack(false); err != nil {
			return err
		}
	}
}

func next(ctx context.Context, deliveries <-chan amqp.Delivery) (amqp.Delivery, error) {
	select {
	case d, ok := <-deliveries:
		if !ok {
			return d, errors.New("the connection ended")
		}
		return d, nil
	case <-ctx.Done():
		return amqp.Delivery{}, ctx.Err()
	}
}
