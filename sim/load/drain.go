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
// never consumed shows exactly what was published into it; an error leaves it half drained.
func Drain(ctx context.Context, url, queue string, seed uint64) ([]check.Appearance, error) {
	var appeared []check.Appearance
	depth, err := Depth(ctx, url, queue)
	if err != nil {
		return nil, err
	}
	err = onConnection(ctx, url, func(conn *amqp.Connection) error {
		channel, deliveries, err := consume(conn, queue, 2*ackBatch)
		if err != nil {
			return err
		}
		generator := NewGenerator(seed, MinSize)
		for len(appeared) < depth {
			d, err := next(ctx, deliveries)
			if err != nil {
				return err
			}
			appeared = append(appeared, received(generator, d, time.Time{}).Appearance)
			if len(appeared)%ackBatch == 0 || len(appeared) == depth {
				if err := channel.Ack(d.DeliveryTag, true); err != nil {
					return err
				}
			}
		}
		return channel.Close() // after the acks
	})
	if err != nil {
		return nil, fmt.Errorf("drain %s after %d of %d messages: %w", queue, len(appeared), depth, err)
	}
	return appeared, nil
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
