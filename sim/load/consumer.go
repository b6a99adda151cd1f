package load

import (
	"context"
	"errors"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/check"
)

// Received is one message as a consumer got it.
type Received struct {
	check.Appearance
	Sent, At time.Time // when it was published and when it came
	Size     int       // of the body in bytes
}

// ConsumerConfig describes one consumer.
type ConsumerConfig struct {
	URL      string
	Queue    string // it must exist
	Seed     uint64 // of the bodies
	Prefetch int    // 0 is 2000
	// Handle gets every message, in order, from one goroutine. The message is acknowledged some time after it returned.
	Handle func(Received)
}

// Consumer consumes a queue with manual acks, over one connection after the other.
type Consumer struct {
	config    ConsumerConfig
	generator *Generator
}

// The acks of a consumer are put together: at most ackBatch messages, or what came within ackDelay.
const (
	ackBatch = 64
	ackDelay = 2 * time.Millisecond
)

// NewConsumer makes a consumer; Run starts it.
func NewConsumer(config ConsumerConfig) *Consumer {
	if config.Prefetch == 0 {
		config.Prefetch = 2000
	}
	return &Consumer{config: config, generator: NewGenerator(config.Seed, MinSize)}
}

// Run consumes until ctx ends; its error is nil then.
func (c *Consumer) Run(ctx context.Context) error {
	err := keepTrying(ctx, c.config.URL, func(conn *amqp.Connection) error { return c.consumeOn(ctx, conn) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (c *Consumer) consumeOn(ctx context.Context, conn *amqp.Connection) error {
	channel, deliveries, err := consume(conn, c.config.Queue, c.config.Prefetch)
	if err != nil {
		return err
	}
	acks := time.NewTicker(ackDelay)
	defer acks.Stop()
	var newest uint64
	unacked := 0
	for {
		if unacked >= ackBatch {
			if err := channel.Ack(newest, true); err != nil {
				return err
			}
			unacked = 0
		}
		select { // any order will do: an ack covers what was handled before it
		case d, ok := <-deliveries:
			if !ok {
				return errors.New("the connection ended")
			}
			c.config.Handle(received(c.generator, d, time.Now()))
			newest, unacked = d.DeliveryTag, unacked+1
		case <-acks.C:
			if unacked == 0 {
				continue
			}
			if err := channel.Ack(newest, true); err != nil {
				return err
			}
			unacked = 0
		case <-ctx.Done():
			return nil
		}
	}
}

// consumerTag names the one consumer of a channel.
const consumerTag = "load"

func consume(conn *amqp.Connection, queue string, prefetch int) (*amqp.Channel, <-chan amqp.Delivery, error) {
	channel, err := conn.Channel()
	if err != nil {
		return nil, nil, err
	}
	if err := channel.Qos(prefetch, 0, false); err != nil {
		return nil, nil, err
	}
	deliveries, err := channel.Consume(queue, consumerTag, false, false, false, false, nil)
	return channel, deliveries, err
}

// received reads a delivery.
func received(g *Generator, d amqp.Delivery, now time.Time) Received {
	r := Received{At: now, Size: len(d.Body)}
	e, intact := g.Check(d.Body)
	r.Lane, r.Index, r.Sent, r.Intact = e.Lane, e.Index, e.Sent, intact
	r.Redelivered = d.Redelivered
	r.Flagged, _ = d.Headers["x-cq-duplicate"].(bool)
	if id, ok := d.Headers["x-cq-id"].(string); ok {
		r.ID, _ = check.ParseID(id) // one that cannot be read is as good as none
	}
	return r
}
