package localbroker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// What raises the limits that a broker sets to connections and channels. A limit of -1 is none.
const (
	fixChannels = "each lane takes a channel: raise channel_max in rabbitmq.conf " +
		"(2047 unless it is set; it holds from the next connection on), " +
		"channel_max_per_node, and the user's limit: rabbitmqctl set_user_limits NAME '{\"max-channels\": -1}'"
	fixConnections = "the router takes two connections, and one more for each lane that searches for a bad message: " +
		"raise the limits that are set: " +
		"rabbitmqctl set_vhost_limits -p VHOST '{\"max-connections\": -1}', " +
		"rabbitmqctl set_user_limits NAME '{\"max-connections\": -1}', " +
		"connection_max in rabbitmq.conf"
)

// explainLimit says which limit of the broker refused a channel or a connection, and what raises it; limited is false
// when err is no such refusal. Brokers say it with 530 or 504; the client library refuses by itself what is over the
// negotiated channel_max.
func explainLimit(err error) (reason, fix string, limited bool) {
	if errors.As(err, new(seatsError)) {
		return err.Error(), fixChannels, true
	}
	if errors.Is(err, amqp.ErrChannelMax) {
		return "the connection has as many channels as the broker allows", fixChannels, true
	}
	code, text := fault(err)
	if code != amqp.NotAllowed && code != amqp.ChannelError && code != amqp.ResourceError {
		return "", "", false
	}
	limited = strings.Contains(text, "limit") || strings.Contains(text, "channel_max")
	switch {
	case limited && strings.Contains(text, "channel"):
		return text, fixChannels, true
	case limited && strings.Contains(text, "connection"):
		return text, fixConnections, true
	}
	return "", "", false
}

// limitRetry is the time between two attempts on a limit. Chosen: where it is the user's, each costs all lanes the
// connection that they share, and a person raises it.
const limitRetry = time.Minute

// pauseAfter is how long to wait before the next attempt.
func pauseAfter(err error, retry *backoff) time.Duration {
	if _, _, limited := explainLimit(err); limited {
		return limitRetry
	}
	return retry.next()
}

// closedError is the broker's close of a connection.
type closedError struct{ said *amqp.Error }

func (e closedError) Error() string {
	return fmt.Sprintf("the broker closed the connection: %d %s", e.said.Code, e.said.Reason)
}

func (e closedError) Unwrap() error { return e.said }
