package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/sim/parts"
)

// The exchange and the queues of every run. Services publish to the exchange at a; the consumer reads inQueue at b.
const (
	exchange = "events"
	outQueue = "events-out" // what Shovel drains at a
	inQueue  = "events-in"
)

// lab is the two brokers. They run for all rounds; bridges come and go.
type lab struct {
	dir  string
	a, b *parts.RabbitMQ
}

func newLab(ctx context.Context, dir string) (*lab, error) {
	l := &lab{dir: dir}
	var err error
	for _, node := range []struct {
		name string
		to   **parts.RabbitMQ
	}{{"a", &l.a}, {"b", &l.b}} {
		config := parts.RabbitMQConfig{Name: "bench-" + node.name, Dir: filepath.Join(dir, node.name), Plugins: []string{"rabbitmq_shovel", "rabbitmq_federation"}}
		if *node.to, err = parts.StartRabbitMQ(ctx, config); err != nil {
			l.close()
			return nil, err
		}
		// Without a cluster name Federation resolves the host's name for every message (decisions.md, M10).
		if _, err := (*node.to).Control(ctx, "set_cluster_name", "site-"+node.name); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *lab) close() {
	for _, node := range []*parts.RabbitMQ{l.a, l.b} {
		if node != nil {
			node.Close()
		}
	}
}

// declare makes what all bridges use, new: the exchange at both sites and the consumer's queue. With outgoing the exchange at a feeds outQueue.
func (l *lab) declare(outgoing bool) error {
	if err := onChannel(l.a.URL(), func(c *amqp.Channel) error {
		if err := declareExchange(c); err != nil || !outgoing {
			return err
		}
		return declareBound(c, outQueue)
	}); err != nil {
		return err
	}
	return onChannel(l.b.URL(), func(c *amqp.Channel) error {
		if err := declareExchange(c); err != nil {
			return err
		}
		return declareBound(c, inQueue)
	})
}

func declareExchange(c *amqp.Channel) error {
	return c.ExchangeDeclare(exchange, "topic", true, false, false, false, nil)
}

func declareBound(c *amqp.Channel, queue string) error {
	if _, err := c.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		return err
	}
	return c.QueueBind(queue, "#", exchange, false, nil)
}

// reset deletes every queue and the exchange at both sites.
func (l *lab) reset(ctx context.Context) error {
	for _, node := range []*parts.RabbitMQ{l.a, l.b} {
		queues, err := node.Control(ctx, "list_queues", "--no-table-headers", "name")
		if err != nil {
			return err
		}
		err = onChannel(node.URL(), func(c *amqp.Channel) error {
			for _, queue := range strings.Split(queues, "\n") {
				if queue == "" {
					continue
				}
				if _, err := c.QueueDelete(queue, false, false, false); err != nil {
					return fmt.Errorf("delete %q: %w", queue, err)
				}
			}
			return c.ExchangeDelete(exchange, false, false)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// waitFor looks every 100 ms, for a minute at most, whether something is so.
func waitFor(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		ok, err := so()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (last: %v)", what, ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// hasConsumer says whether somebody consumes a queue.
func hasConsumer(url, queue string) (consumed bool, err error) {
	err = onChannel(url, func(c *amqp.Channel) error {
		q, err := c.QueueDeclarePassive(queue, true, false, false, false, nil)
		consumed = q.Consumers > 0
		return err
	})
	return consumed, err
}

// onChannel does something on a connection of its own.
func onChannel(url string, do func(*amqp.Channel) error) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	return do(channel)
}
