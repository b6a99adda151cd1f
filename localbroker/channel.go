package localbroker

import (
	"context"
	"errors"
	"strings"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// channel is an open channel: the library's side for calls, the wire's for messages.
type channel struct {
	session *session
	lib     *amqp.Channel
	wire    *wireChannel  // nil for a channel without a sink
	busy    chan struct{} // not nil: a call went on without its caller, until this is closed
	free    func()        // gives back what the session counts, once
}

// open opens a channel whose messages go to sink, which may be nil.
func (s *session) open(ctx context.Context, to sink) (*channel, error) {
	return s.openFreeing(ctx, to, func() {})
}

// openCounted is open for who has put a token into the session's channels; the end of the channel takes it out.
func (s *session) openCounted(ctx context.Context, to sink) (*channel, error) {
	return s.openFreeing(ctx, to, sync.OnceFunc(func() { <-s.seats.channels }))
}

func (s *session) openFreeing(ctx context.Context, to sink, free func()) (*channel, error) {
	ch := &channel{session: s, busy: make(chan struct{}), free: free}
	answered, err := s.await(ctx, "open a channel", func() (err error) {
		defer close(ch.busy)
		s.opening <- struct{}{}
		defer func() { <-s.opening }()
		s.wire.expect(to)
		ch.lib, err = s.client.Channel()
		ch.wire = s.wire.expected()
		return err
	})
	if !answered {
		s.start(ch.closeLate)
		return nil, err
	}
	ch.busy = nil
	if err == nil && to != nil && ch.wire == nil {
		err = errOver
	}
	if err != nil {
		free()
	}
	return ch, err
}

// closeLate closes a channel whose opener has left.
func (ch *channel) closeLate() {
	defer ch.free()
	<-ch.busy
	if ch.lib != nil {
		_ = ch.lib.Close() // nobody uses it
	}
}

// call makes one call of the library on this channel. After an error of ctx only close may follow.
func (ch *channel) call(ctx context.Context, what string, call func(*amqp.Channel) error) error {
	busy := make(chan struct{})
	ch.busy = busy
	answered, err := ch.session.await(ctx, what, func() error {
		defer close(busy)
		return call(ch.lib)
	})
	if answered {
		ch.busy = nil
	}
	return err
}

// close closes the channel; nothing more is queued for it. Errors: ctx's; the channel then closes without its caller.
func (ch *channel) close(ctx context.Context) error {
	ch.shut()
	busy := ch.busy
	_, err := ch.session.await(ctx, "close a channel", func() error {
		defer ch.free()
		if busy != nil {
			<-busy // two calls at once would take each other's answers
		}
		return ch.lib.Close()
	})
	if ctx.Err() != nil {
		return err
	}
	return nil // closed, by whatever
}

// leave closes the channel without waiting.
func (ch *channel) leave() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_ = ch.close(done)
}

// shut ends queueing for the channel.
func (ch *channel) shut() {
	if ch.wire == nil {
		return
	}
	w := ch.wire.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	ch.wire.open = false
	w.changed.fire()
}

// fault is what the broker says of a refused call, code 0 when it said nothing.
func fault(err error) (code int, text string) {
	var said *amqp.Error
	if errors.As(err, &said) && said.Server {
		return said.Code, said.Reason
	}
	return 0, ""
}

// exclusive tells whether the broker refused a consumer because another one has the queue ("… in exclusive use").
func exclusive(err error) bool {
	code, text := fault(err)
	return code == amqp.AccessRefused && strings.Contains(text, "exclusive")
}
