package localbroker

import (
	"context"
	"fmt"
)

// dialError is why a publisher's own connection was not made.
type dialError struct{ err error }

func (e dialError) Error() string { return fmt.Sprintf("a connection of its own: %v", e.err) }

func (e dialError) Unwrap() error { return e.err }

// connection gives the session to acquire on, as soon as there is one.
func (p *Publisher) connection(ctx context.Context, apart bool) (*session, error) {
	if apart {
		return p.ownConnection(ctx)
	}
	if p.broker.publishing.status().State != stateRunning {
		p.box.set(stateWaiting, "no connection to the broker", "")
	}
	return p.broker.publishing.wait(ctx, p.quit)
}

// ownConnection dials, unless the one that there is still lives.
func (p *Publisher) ownConnection(ctx context.Context) (*session, error) {
	p.mu.Lock()
	s := p.own
	p.mu.Unlock()
	if s != nil && s.wire.reason() == nil {
		return s, nil
	}
	p.closeOwn()
	s, err := dial(ctx, &p.broker.cfg, &p.broker.target, "publishing apart")
	if err != nil {
		return nil, dialError{err}
	}
	s.apart = true
	if p.keepOwn(s) {
		return s, nil
	}
	s.close(closingGrace)
	return nil, errWoken
}

// keepOwn is false when the publisher was closed meanwhile.
func (p *Publisher) keepOwn(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.own = s
	p.sessions.Go(func() {
		<-s.wire.gone
		s.finish()
	})
	return true
}

// leave ends what is on the publisher's own connection, or on the shared one: the incarnation and, with it, a
// connection of its own.
func (p *Publisher) leave(ctx context.Context, apart bool) {
	p.mu.Lock()
	t := p.current
	p.mu.Unlock()
	if t != nil && t.session.apart == apart {
		p.release(ctx, t, "the publisher went to another connection")
	}
	if apart {
		p.closeOwn()
	}
}

func (p *Publisher) closeOwn() {
	p.mu.Lock()
	s := p.own
	p.own = nil
	p.mu.Unlock()
	if s != nil {
		s.close(closingGrace)
	}
}
