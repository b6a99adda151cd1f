package localbroker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// session is one open connection, from the handshake to its end. It is never repaired: what used it starts again on the
// next one.
type session struct {
	cfg     *Config
	client  *amqp.Connection
	wire    *wire
	opening chan struct{} // capacity 1: who opens a channel holds it
	seats   *seats        // of the consuming connection's lanes and checks
	apart   bool          // one publisher's own

	bodyLimit atomic.Int64 // bytes; what the broker has shown that it takes, 0 while it has not

	work  sync.WaitGroup // flush, and calls, which may outlive their caller
	mu    sync.Mutex     // guards ended, so that nothing starts while finish waits
	ended bool
}

// start runs f unless the session is over.
func (s *session) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.work.Go(f)
	return true
}

// dial connects and shakes hands within cfg.DialTimeout.
func dial(ctx context.Context, cfg *Config, to *target, name string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, cfg.DialTimeout)
	defer cancel()
	s := &session{cfg: cfg, opening: make(chan struct{}, 1)}
	conn, err := s.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the handshake, which knows no context
	defer stop()
	s.work.Go(s.wire.flush)
	s.client, err = amqp.Open(s.wire, amqp.Config{
		SASL: to.sasl(), Vhost: to.vhost, FrameSize: cfg.FrameSize, Heartbeat: cfg.Heartbeat, Locale: "en_US",
		Properties: amqp.Table{"product": "cloudqueue", "platform": "go",
			"connection_name": "cloudqueue " + string(cfg.Site) + " " + name},
	})
	if err != nil {
		err = s.handshakeError(ctx, err)
		s.wire.kill(err)
		s.work.Wait()
		return nil, err
	}
	s.seats = newSeats(int(s.client.Config.ChannelMax))
	s.wire.silence.Store(int64(s.client.Config.Heartbeat * 3 / 2)) // RabbitMQ sends one each half interval
	s.start(s.watchReader)
	return s, nil
}

// watchReader ends the session when the library does not come back to read: an answer that nobody asked for makes it
// wait for ever, and then no read is there to time out.
func (s *session) watchReader() {
	tick := time.NewTicker(s.cfg.CallTimeout)
	defer tick.Stop()
	for {
		select {
		case <-s.wire.gone:
			return
		case <-tick.C:
		}
		if left := s.wire.left.Load(); left != 0 && time.Since(time.Unix(0, left)) > s.cfg.CallTimeout {
			s.wire.kill(errors.New("the broker sent an answer that nobody asked for"))
		}
	}
}

// handshakeError prefers what says more: the broker's word, then the end of the socket, then the library's guess.
func (s *session) handshakeError(ctx context.Context, err error) error {
	var said *amqp.Error
	if errors.As(err, &said) && said.Server {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("handshake: no answer within %v", s.cfg.DialTimeout)
	}
	if errors.Is(err, amqp.ErrCredentials) || errors.Is(err, amqp.ErrSASL) {
		return err
	}
	if end := s.wire.reason(); end != nil {
		return fmt.Errorf("handshake: %w", end)
	}
	return fmt.Errorf("handshake: %w", err)
}

// connect dials, and lays the layers: deadlines, TLS, wire.
func (s *session) connect(ctx context.Context, to *target) (net.Conn, error) {
	raw, err := s.cfg.Dial(ctx, "tcp", to.address)
	if err != nil {
		return nil, err
	}
	stall := &stallConn{Conn: raw, timeout: s.cfg.WriteTimeout}
	var conn net.Conn = stall
	if to.tls {
		conn = tls.Client(stall, tlsConfig(s.cfg.TLS, to.host))
	}
	s.wire = newWire(conn, s.cfg.FrameSize, s.cfg.MaxMessageSize)
	s.wire.silence.Store(int64(s.cfg.DialTimeout))
	stall.idle = func() time.Duration { return time.Duration(s.wire.silence.Load()) }
	stall.excused = s.wire.excused
	if secure, ok := conn.(*tls.Conn); ok {
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("TLS: %w", err), raw.Close())
		}
	}
	return conn, nil
}

func tlsConfig(given *tls.Config, host string) *tls.Config {
	config := &tls.Config{}
	if given != nil {
		config = given.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	if config.ServerName == "" {
		config.ServerName = host
	}
	return config
}

// close says goodbye within grace, then cuts. A broker with an alarm does not read, so it gets no goodbye.
func (s *session) close(grace time.Duration) {
	if reason, _ := s.wire.alarm(); reason != "" {
		s.wire.kill(errors.New("closed during an alarm"))
	}
	cut := time.AfterFunc(grace, func() { s.wire.kill(errors.New("closed without the broker's answer")) })
	_ = s.client.Close() // over in any case
	s.finish()
	cut.Stop()
}

// word gives the broker's reason for the end of the connection, which says more than the library's error; err while
// there is none.
func (s *session) word(err error) error {
	if end := s.wire.reason(); end != nil {
		return end
	}
	return err
}

// finish waits until nothing of an ended session runs any more.
func (s *session) finish() {
	// a socket that takes nothing, not even close-ok
	cut := time.AfterFunc(time.Second, func() { s.wire.kill(errors.New("closed")) })
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.work.Wait()
	cut.Stop()
}

// await waits for a call of the library, which knows no context, until it answers, the broker takes longer than
// cfg.CallTimeout (which ends the session; an alarm suspends it) or ctx ends. Then answered is false and the call goes
// on without its caller.
func (s *session) await(ctx context.Context, what string, call func() error) (answered bool, err error) {
	done := make(chan error, 1)
	result := make(chan error, 1)
	if !s.start(func() { done <- call() }) || !s.start(func() { result <- s.limit(what, done) }) {
		return true, errOver
	}
	select {
	case err := <-result:
		return true, err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// limit gives the result of done, and ends the session when there is none in time.
func (s *session) limit(what string, done <-chan error) error {
	timer := time.NewTimer(s.cfg.CallTimeout)
	defer timer.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-timer.C:
			if s.wire.excused() {
				timer.Reset(s.cfg.CallTimeout)
				continue
			}
			s.wire.kill(fmt.Errorf("%s: no answer within %v", what, s.cfg.CallTimeout))
			return errors.Join(s.wire.reason(), <-done)
		}
	}
}

// broker is what the other end says that it is.
func (s *session) broker() (product, version string) {
	product, _ = s.client.Properties["product"].(string)
	version, _ = s.client.Properties["version"].(string)
	return product, version
}
