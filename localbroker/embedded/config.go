package embedded

import (
	"cmp"
	"log/slog"
	"time"
)

// Config says how a broker behaves. The zero value is a broker for user guest with password guest, with the limits that
// Limits names. A time-out or limit below zero is the default too: there is no "off", because a broker in the process
// of something else must not be the reason for its end.
type Config struct {
	// Users by name. Empty means guest with password guest, as a fresh RabbitMQ has.
	Users map[string]User
	// VHost is the one virtual host; zero means "/". Another one in connection.open is refused with 530.
	VHost string
	// Product is the name that clients see; zero means "Cloudqueue embedded broker". A client that asks for "RabbitMQ"
	// before it uses an extension can be told that: the extensions are there.
	Product string
	// Heartbeat is proposed to clients; zero means 60 s (RabbitMQ's), negative means none. Whole seconds.
	Heartbeat time.Duration
	// HandshakeTimeout bounds everything before connection.open-ok; zero means 10 s (RabbitMQ's).
	HandshakeTimeout time.Duration
	// WriteTimeout bounds the writing of 64 KiB to a client; zero means 15 s (RabbitMQ's send_timeout). After it the
	// connection is gone.
	WriteTimeout time.Duration
	// CloseTimeout bounds the wait for a client's close-ok; zero means 2 s.
	CloseTimeout time.Duration
	// Limits bound what clients can make the broker hold.
	Limits Limits
	// Fate decides what becomes of a message, for tests of its publishers; nil means that all goes well. It is called
	// with the broker locked: it must return at once and not call the broker.
	Fate func(Arrival) Fate
	// Logger gets connections' starts, ends and the alarm; nil means none.
	Logger *slog.Logger
}

// User is one user of the broker. Every user may do everything.
type User struct {
	Password string
	// Impersonator may publish with another's user-id property, as RabbitMQ's tag of that name allows.
	Impersonator bool
}

// Limits are the broker's bounds. Zero means the default, which each field names.
type Limits struct {
	// FrameMax in bytes, proposed to clients: 131,072 (RabbitMQ's), at least 4,096.
	FrameMax uint32
	// ChannelMax per connection: 2,047 (RabbitMQ's).
	ChannelMax uint16
	// Connections at once: 1,000. More are refused at connection.open with 530.
	Connections int
	// Handshakes at once, accepted but not open: 256. More are closed unread.
	Handshakes int
	// MessageBytes is the largest body: 16 MiB (RabbitMQ 4's). A larger one closes its channel with 406. Twice as much
	// may be arriving on all channels of a connection together; more closes it with 506.
	MessageBytes int64
	// MemoryBytes raises the alarm when messages hold more: 256 MiB. It ends at nine tenths of that.
	MemoryBytes int64
	// OutboxBytes held for one client before its consumers wait and it is not read: 4 MiB. One message more may be
	// added.
	OutboxBytes int
	// Queues, Exchanges and Bindings of the virtual host: 10,000, 10,000 and 100,000. More are refused with 406.
	Queues, Exchanges, Bindings int
	// Consumers per channel: 10,000. More are refused with 406.
	Consumers int
}

func (c Config) withDefaults() Config {
	if len(c.Users) == 0 {
		c.Users = map[string]User{"guest": {Password: "guest"}}
	}
	setDefault(&c.VHost, "/")
	setDefault(&c.Product, "Cloudqueue embedded broker")
	if c.Heartbeat == 0 {
		c.Heartbeat = 60 * time.Second
	}
	setDefault(&c.HandshakeTimeout, 10*time.Second)
	setDefault(&c.WriteTimeout, 15*time.Second)
	setDefault(&c.CloseTimeout, 2*time.Second)
	c.Heartbeat = min(max(c.Heartbeat, 0), 65535*time.Second)
	c.Limits = c.Limits.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func (l Limits) withDefaults() Limits {
	setDefault(&l.FrameMax, 131072)
	l.FrameMax = max(l.FrameMax, minFrameMax)
	setDefault(&l.ChannelMax, 2047)
	setDefault(&l.Connections, 1000)
	setDefault(&l.Handshakes, 256)
	setDefault(&l.MessageBytes, 16<<20)
	setDefault(&l.MemoryBytes, 256<<20)
	setDefault(&l.OutboxBytes, 4<<20)
	setDefault(&l.Queues, 10000)
	setDefault(&l.Exchanges, 10000)
	setDefault(&l.Bindings, 100000)
	setDefault(&l.Consumers, 10000)
	return l
}

// setDefault puts the default in the place of zero, and of a negative value, which is no limit and no time.
func setDefault[T cmp.Ordered](field *T, value T) {
	var zero T
	if *field <= zero {
		*field = value
	}
}
