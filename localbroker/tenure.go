package localbroker

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// tenure is one incarnation of a publisher: its channel's sink and what is unanswered on it. Guarded by the publisher's
// mu.
type tenure struct {
	publisher   *Publisher
	session     *session
	incarnation uint64
	ch          *channel
	window      window
	dead        bool
	why         closing
}

func (t *tenure) confirmed(number uint64, multiple, ack bool) (err error) {
	p := t.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told, err = t.window.confirm(number, multiple, ack, p.told)
	p.changed.fire()
	wakeUp(p.wake)
	return err
}

func (t *tenure) returned(in *content) error {
	p := t.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	return t.window.matchReturn(in)
}

// over settles what is unanswered. From here on nothing is queued for the channel.
func (t *tenure) over(why closing) {
	p := t.publisher
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.dead {
		return
	}
	why.apart = t.session.apart
	t.dead, t.why = true, why
	if p.current == t {
		p.current, p.lost = nil, time.Now()
	}
	if limit := bodyLimit(why); limit > 0 {
		t.session.bodyLimit.Store(limit)
	}
	p.told = t.window.end(why, p.told)
	p.changed.fire()
	wakeUp(p.wake)
}

// bodyLimit reads the broker's own limit out of its refusal ("message size 9 is larger than configured max size 8"), so
// that the next one over it is TooLarge without a try. It holds for the session: an admin may raise it.
func bodyLimit(why closing) int64 {
	found := maxSize.FindStringSubmatch(why.text)
	if why.hard || found == nil {
		return 0
	}
	n, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

var maxSize = regexp.MustCompile(`larger than configured max size (\d+)`)

// deliver: somebody has published into the lock queue. It stays there; a prefetch of 1 keeps it at one.
func (t *tenure) deliver(*content) (more bool) { return false }

// cancelled: the lock is lost, because its queue was deleted. Whoever declares it again may publish, so not even what
// is queued in this process may be sent any more.
func (t *tenure) cancelled() { t.session.wire.kill(errLockLost) }

var errLockLost = errors.New("the owner lock's queue was deleted")

// acquire opens a channel on s, in confirm mode, and takes the lock with it.
func (p *Publisher) acquire(ctx context.Context, s *session) (uint64, error) {
	t := &tenure{publisher: p, session: s, window: newWindow(p.broker.cfg.Window)}
	ch, err := s.open(ctx, t)
	if err != nil {
		return 0, s.word(err)
	}
	t.ch = ch
	if err := ch.call(ctx, "take the owner lock", p.lock); err != nil {
		ch.leave()
		return 0, s.word(err)
	}
	if incarnation, ok := p.install(t); ok {
		return incarnation, nil
	}
	ch.leave()
	return 0, errOver
}

// lock takes the lock: an exclusive consumer, which the broker frees when this channel's process has ended, and not
// before. A dead channel publishes nothing, so a successor's first publish comes after our last one (decisions.md, M5).
func (p *Publisher) lock(lib *amqp.Channel) error {
	if err := lib.Confirm(false); err != nil {
		return err
	}
	if _, err := lib.QueueDeclare(p.queue, true, false, false, false, nil); err != nil {
		return err
	}
	if err := lib.Qos(1, 0, false); err != nil {
		return err
	}
	_, err := lib.Consume(p.queue, "cloudqueue-owner", false, true, false, false, nil)
	return err
}

func (p *Publisher) install(t *tenure) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.dead || p.closed {
		return 0, false
	}
	p.incarnation++
	t.incarnation = p.incarnation
	p.current = t
	return t.incarnation, true
}

// explain sets the state of a publisher that could not acquire.
func (p *Publisher) explain(err error) {
	code, text := fault(err)
	limit, raise, limited := explainLimit(err)
	switch {
	case limited:
		p.box.set(stateHeld, limit, raise)
	case errors.As(err, &dialError{}):
		reason, fix := explainConnection(err)
		p.box.set(stateWaiting, reason, fix)
	case exclusive(err):
		p.box.set(stateWaiting, "another channel still holds the owner lock "+p.queue,
			"it ends by itself when the broker has ended the earlier router's channel; "+
				"if that router still runs, stop it: rabbitmqctl list_consumers")
	case code == amqp.AccessRefused:
		p.box.set(stateHeld, text, fixPermissions)
	case code == amqp.PreconditionFailed || code == amqp.ResourceLocked:
		p.box.set(stateHeld, text,
			"delete the queue, so that it is declared again, durable: rabbitmqctl delete_queue "+p.queue)
	default:
		p.box.set(stateWaiting, err.Error(), "")
	}
}
