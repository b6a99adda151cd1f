package localbroker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"
)

// seats shares the channels of the consuming connection. A lane's seat is a right to one channel; there is one seat
// less than channels, so that checks and declarations always find one, and no lane that runs makes room for another:
//
//	channel_max 5:  lane  lane  lane  lane  (checks)
type seats struct {
	taken    atomic.Int64
	channels chan struct{} // capacity channel_max: one token for each channel that is open or being closed
}

func newSeats(channelMax int) *seats { return &seats{channels: make(chan struct{}, channelMax)} }

// take gives a lane a seat. The error: seatsError.
func (s *seats) take() error {
	if s.taken.Add(1) < int64(cap(s.channels)) {
		return nil
	}
	s.leave()
	return seatsError(cap(s.channels))
}

func (s *seats) leave() { s.taken.Add(-1) }

// openSeated is open for what counts: lanes that have a seat, and checks. It waits while checks of others have all
// channels; where at once is set it does not wait: errBusy.
func (s *session) openSeated(ctx context.Context, to sink, atOnce bool) (*channel, error) {
	select {
	case s.seats.channels <- struct{}{}:
		return s.openCounted(ctx, to)
	default:
	}
	if atOnce {
		return nil, errBusy
	}
	select { // whichever: after gone, opening fails
	case s.seats.channels <- struct{}{}:
		return s.openCounted(ctx, to)
	case <-s.wire.gone:
		return nil, s.word(errOver)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// errBusy: all channels are in use at this moment.
var errBusy = errors.New("all channels of the connection are in use")

// seatsError is a connection without a seat for one more lane; the number is the broker's channel_max.
type seatsError int

func (e seatsError) Error() string {
	return fmt.Sprintf("the broker gives a connection %d channels: %d for lanes that begin here, one for checks",
		int(e), int(e)-1)
}

func (e seatsError) Unwrap() error { return amqp.ErrChannelMax }

// noChannel: the connection has no channel for this, and nothing has happened to those that it has.
func noChannel(err error) bool { return errors.Is(err, errBusy) || errors.Is(err, amqp.ErrChannelMax) }
