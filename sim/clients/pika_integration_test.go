//go:build integration

package clients

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/localbroker/embedded"
	"cloudqueue/sim/lane"
)

// arrived is what the consumer prints: what the publisher set, with our headers beside it and the rest of the lifetime. The
// publisher's user-id means nothing to another broker: it stands in a header.
const arrived = `exchange orders
routing_key orders.new
app_id 'shop'
cluster_id 'shard-3'
content_encoding 'utf-8'
content_type 'application/json'
correlation_id 'c-1'
delivery_mode 2
expiration '(what is left)'
header array [1, 'two', [3, None]]
header bytes b'\x00\xff'
header decimal Decimal('3.14')
header empty {}
header false False
header int -5
header long 1099511627776L
header none None
header string 'käse'
header table {'a': {'b': 'c'}}
header time datetime.datetime(2026, 1, 2, 3, 4, 5)
header true True
header x-cq-id 'ams/orders@(generation):1'
header x-cq-origin 'ams'
header x-cq-path ['ams']
header x-cq-time (when)
header x-cq-user-id 'guest'
message_id 'm-1'
priority 7
reply_to 'answers'
timestamp 1700000000
type 'order.created'
user_id None
body b'\x00body\xff'
`

func TestAPikaProgramPublishesAtOneSiteAndConsumesAtTheOtherUnchanged(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	checkCrossing(ctx, t, variable(t, "CLOUDQUEUE_TEST_AMQP"), variable(t, "CLOUDQUEUE_TEST_AMQP_2"))
}

// TestAPikaProgramFindsNothingElseInTheEmbeddedBroker: to a client that is not the router's own, the embedded broker is what RabbitMQ
// is: the same programs print the same.
func TestAPikaProgramFindsNothingElseInTheEmbeddedBroker(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	_, ams := lane.Broker(t, embedded.Config{})
	_, nyc := lane.Broker(t, embedded.Config{})
	checkCrossing(ctx, t, ams, nyc)
}

// checkCrossing runs routers for two brokers, publishes with the one program at ams, and compares what the other prints at nyc.
func checkCrossing(ctx context.Context, t *testing.T, ams, nyc string) {
	t.Helper()
	prepare(t, ams, "")
	prepare(t, nyc, "clients-in")
	lane.Started(ctx, t, lane.Dir(t), ams, nyc)
	waitForRouter(ctx, t, ams)

	python(ctx, t, "testdata/pika_publish.py", ams)
	got := python(ctx, t, "testdata/pika_consume.py", nyc, "clients-in")

	for pattern, name := range map[string]string{`@\d+:`: "@(generation):", `x-cq-time .*`: "x-cq-time (when)", `expiration '5\d{5}'`: "expiration '(what is left)'"} {
		got = regexp.MustCompile(pattern).ReplaceAllString(got, name)
	}
	if diff := diffs.Diff(strings.Split(arrived, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("consumed at nyc (-want +got):\n%s", diff)
	}
}

func variable(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run make test", name)
	}
	return value
}

func python(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(ctx, variable(t, "CLOUDQUEUE_TEST_PYTHON"), args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		t.Fatalf("%v: %v\n%s", args, err, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// prepare makes the exchange and, at the destination, an empty queue; both go with the test.
func prepare(t *testing.T, url, queue string) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := ch.QueueDelete(cmp.Or(queue, lane.SourceQueue), false, false, false)
		if err = errors.Join(err, ch.ExchangeDelete(lane.Exchange, false, false), conn.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := ch.ExchangeDeclare(lane.Exchange, "topic", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	if queue == "" {
		return
	}
	_, err = ch.QueueDeclare(queue, true, false, false, false, nil)
	if err = errors.Join(err, ch.QueueBind(queue, "#", lane.Exchange, false, nil)); err != nil {
		t.Fatal(err)
	}
}

// waitForRouter waits until somebody consumes the route's queue.
func waitForRouter(ctx context.Context, t *testing.T, url string) {
	t.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for {
		ch, err := conn.Channel()
		if err != nil {
			t.Fatal(err)
		}
		q, err := ch.QueueDeclarePassive(lane.SourceQueue, true, false, false, false, nil) // an error closes the channel
		if err == nil && q.Consumers == 1 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("no router took the route's queue")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
