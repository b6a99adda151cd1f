package localbroker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"cloudqueue/federation"
)

// Config tells how to reach the local broker and how much of it to hold in memory.
type Config struct {
	// URL is amqp:// or amqps://host:port/vhost, with a user name but never a password. Of the query parameters
	// heartbeat (seconds) and auth_mechanism (plain, amqplain, external) are understood.
	URL string
	// Username and Password log in by PLAIN. An empty Username is the URL's one or, without it, guest with the password
	// guest.
	Username, Password string
	// TLS is for amqps. Nil verifies against the system's roots; below 1.2 is never offered.
	TLS *tls.Config
	// Site names the owner locks (cq.owner.<site>.<index>) and the connections that the broker's admin sees. Required.
	Site federation.SiteID
	// PrefetchBytes bounds what one consumer holds unacked, in bytes. Zero: 4 MiB. A single larger message is still
	// taken.
	PrefetchBytes int
	// MaxPrefetch bounds what one consumer holds unacked, in messages. Zero: 1024 (more gained nothing at 1 KiB). At
	// most 65535.
	MaxPrefetch int
	// MaxMessageSize is the largest body taken or sent, in bytes. Zero: 128 MiB, RabbitMQ 3.10's own limit.
	MaxMessageSize int64
	// Window is the largest number of unanswered publishes of one publisher. Zero: 2048 (512 stood still between the
	// answers of a busy broker, 8192 gained nothing more; docs/benchmarks.md).
	Window int
	// FrameSize is the largest frame offered to the broker, in bytes. Zero: 131072, RabbitMQ's default.
	FrameSize int
	// Heartbeat is the interval offered to the broker, in whole seconds. Zero: 10 s. A connection that is silent for
	// 1.5 intervals is dead.
	Heartbeat time.Duration
	// DialTimeout bounds connecting, TLS and the AMQP handshake together. Zero: 10 s.
	DialTimeout time.Duration
	// CallTimeout bounds every request that the broker answers (open, declare, consume, close); a later answer costs
	// the connection. Zero: 15 s.
	CallTimeout time.Duration
	// WriteTimeout bounds a write during which the socket takes nothing; a longer one costs the connection. Zero: 15 s.
	// An alarm of the broker suspends it.
	WriteTimeout time.Duration
	// RetryMin and RetryMax bound the back-off between attempts: each waits a random time below the bound, which
	// doubles. Zero: 250 ms and 15 s.
	RetryMin, RetryMax time.Duration
	// Reassert is the time between two assertions of a source's queue and bindings. Zero: 30 s.
	Reassert time.Duration
	// Logger takes one line per change of state. Nil: none.
	Logger *slog.Logger
	// Dial connects. Nil: a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// target is what a valid Config says in the words of the connection.
type target struct {
	address string
	host    string
	vhost   string
	tls     bool
	sasl    func() []amqp.Authentication // fresh each time: the client wipes the password of what it used
}

// withDefaults gives the config with zero values replaced, and everything that is wrong with it.
func (c Config) withDefaults() (Config, target, error) {
	t, err := c.target()
	wrong := complaints{err}
	if c.Site == "" {
		wrong.addf("the site (Site) is empty: it names the owner locks")
	}
	c.sizes(&wrong)
	c.times(&wrong)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c, t, errors.Join(wrong...)
}

func (c *Config) sizes(wrong *complaints) {
	bound(wrong, "PrefetchBytes", &c.PrefetchBytes, 4<<20, 1<<30)
	bound(wrong, "MaxPrefetch", &c.MaxPrefetch, 1024, 65535)
	bound(wrong, "MaxMessageSize", &c.MaxMessageSize, 128<<20, 1<<30)
	bound(wrong, "Window", &c.Window, 2048, 1<<16)
	bound(wrong, "FrameSize", &c.FrameSize, 128<<10, 16<<20)
	if c.FrameSize < 4096 {
		wrong.addf("the frame size (FrameSize) is %d: the protocol's least is 4096", c.FrameSize)
	}
}

func (c *Config) times(wrong *complaints) {
	const most = 65535 * time.Second // what the protocol can say of a heartbeat, and more than anybody waits
	bound(wrong, "Heartbeat", &c.Heartbeat, 10*time.Second, most)
	bound(wrong, "DialTimeout", &c.DialTimeout, 10*time.Second, most)
	bound(wrong, "CallTimeout", &c.CallTimeout, 15*time.Second, most)
	bound(wrong, "WriteTimeout", &c.WriteTimeout, 15*time.Second, most)
	bound(wrong, "RetryMin", &c.RetryMin, 250*time.Millisecond, most)
	bound(wrong, "RetryMax", &c.RetryMax, 15*time.Second, most)
	bound(wrong, "Reassert", &c.Reassert, 30*time.Second, most)
	if c.Heartbeat%time.Second != 0 {
		wrong.addf("the heartbeat is %v: the protocol carries whole seconds", c.Heartbeat)
	}
	if c.RetryMin > c.RetryMax {
		wrong.addf("RetryMin is %v and RetryMax %v: write one that is not below the other", c.RetryMin, c.RetryMax)
	}
}

// complaints are everything that is wrong.
type complaints []error

func (c *complaints) addf(format string, args ...any) { *c = append(*c, fmt.Errorf(format, args...)) }

// bound replaces zero, and reports what is below it or above limit.
func bound[T int | int64 | time.Duration](wrong *complaints, name string, value *T, fallback, limit T) {
	if *value == 0 {
		*value = fallback
	}
	if *value < 0 || *value > limit {
		wrong.addf("%s is %v: write what is above 0 and at most %v, or 0 for %v", name, *value, limit, fallback)
	}
}

// target reads the URL. No error of it repeats the URL, which may hold a secret.
func (c *Config) target() (target, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		return target{}, errors.New("broker URL is not understood: " +
			"write amqp://host:5672/vhost or amqps://host:5671/vhost")
	}
	if _, secret := u.User.Password(); secret {
		return target{}, errors.New("broker URL holds a password: " +
			"write the URL without it and the password as password: file:/path or password: env:NAME")
	}
	if name := u.User.Username(); c.Username == "" {
		c.Username = name
	}
	if c.Username == "" && c.Password != "" {
		return target{}, errors.New("there is a password and no user name: write username beside it")
	}
	if c.Username == "" {
		c.Username, c.Password = "guest", "guest"
	}
	if err := c.readParameters(u.Query()); err != nil {
		return target{}, err
	}
	t := target{host: u.Hostname(), vhost: strings.TrimPrefix(u.Path, "/"), tls: u.Scheme == "amqps"}
	if t.vhost == "" {
		t.vhost = "/"
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "5672", true: "5671"}[t.tls]
	}
	t.address = net.JoinHostPort(t.host, port)
	t.sasl, err = saslOf(u.Query().Get("auth_mechanism"), c.Username, c.Password)
	return t, err
}

func (c *Config) readParameters(query url.Values) error {
	for name := range query {
		switch name {
		case "auth_mechanism":
		case "heartbeat":
			seconds, err := strconv.ParseUint(query.Get(name), 10, 16)
			if err != nil || seconds == 0 {
				return errors.New("broker URL: heartbeat is not a number of seconds from 1 to 65535")
			}
			c.Heartbeat = time.Duration(seconds) * time.Second
		default:
			return fmt.Errorf("broker URL: unknown parameter %q: "+
				"heartbeat and auth_mechanism are understood; certificates are broker.authorities, broker.certificate and broker.key", name)
		}
	}
	return nil
}

func saslOf(mechanism, username, password string) (func() []amqp.Authentication, error) {
	switch strings.ToLower(mechanism) {
	case "", "plain":
		return func() []amqp.Authentication {
			return []amqp.Authentication{&amqp.PlainAuth{Username: username, Password: password}}
		}, nil
	case "amqplain":
		return func() []amqp.Authentication {
			return []amqp.Authentication{&amqp.AMQPlainAuth{Username: username, Password: password}}
		}, nil
	case "external":
		return func() []amqp.Authentication { return []amqp.Authentication{&amqp.ExternalAuth{}} }, nil
	}
	return nil, fmt.Errorf("broker URL: auth_mechanism %q is not one of plain, amqplain, external", mechanism)
}
