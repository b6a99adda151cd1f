package embedded

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
)

// Broker is an AMQP 0-9-1 broker with one virtual host, in memory. Make it with New.
type Broker struct {
	cfg    Config
	limits Limits
	users  map[string]User
	vhost  string
	log    *slog.Logger
	raised atomic.Bool     // the alarm, for readers that look at every message
	life   context.Context // ends with Close
	end    context.CancelFunc

	// mu guards all below and the exchanges, queues and consumers that hang on it. One lock for all: a routing touches
	// several queues, a queue several connections, and nothing waits under it. Always released by unlock.
	mu          sync.Mutex
	exchanges   map[string]*exchange
	queues      map[string]*queue
	replies     map[string]*consumer // direct reply-to consumers by routing key
	connections map[uint64]*connection
	lastID      uint64
	bindings    int
	held        int64 // bytes that messages cost
	alarm       alarm
	counters    Counters
	open        int     // connections that have finished their handshake
	deaths      []death // messages to dead-letter before unlock
	routing     routing // scratch
	routings    uint64
}

// New makes a broker. It does nothing until a connection is served.
func New(cfg Config) *Broker {
	cfg = cfg.withDefaults()
	b := &Broker{
		cfg:         cfg,
		limits:      cfg.Limits,
		users:       maps.Clone(cfg.Users),
		vhost:       cfg.VHost,
		log:         cfg.Logger,
		exchanges:   map[string]*exchange{},
		queues:      map[string]*queue{},
		replies:     map[string]*consumer{},
		connections: map[uint64]*connection{},
	}
	b.life, b.end = context.WithCancel(context.Background())
	b.predeclare()
	return b
}

// unlock finishes what an operation has left behind, dead letters, and releases mu.
func (b *Broker) unlock() {
	for len(b.deaths) > 0 {
		deaths := b.deaths
		b.deaths = nil
		for _, d := range deaths {
			b.bury(d)
		}
	}
	b.mu.Unlock()
}
