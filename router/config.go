package router

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// Config is what a router is made of. The parts are started and stopped by whoever made them.
type Config struct {
	Federation string
	Site       federation.SiteID
	// Name of the process in HELLO, for people; zero: the site's name.
	Name string
	// Boot is random per process.
	Boot       federation.BootID
	Spool      *spool.Spool
	Broker     Broker
	Peers      Peers
	Topology   TopologySource
	Properties Properties
	Logger     *slog.Logger

	// BatchEntries and BatchBytes close a batch (messages, raw bytes). Zero: 1024 and 256 KiB: a zstd batch of 64 JSON
	// events has reached most of its ratio (decisions.md M8), and 256 KiB take 2 ms on 1 Gbit/s.
	BatchEntries int
	BatchBytes   int
	// Linger is how long a batch waits for more under load. Zero: 25 ms, which at 6,000 msg/s makes batches of 150. An idle lane never lingers.
	// Negative: none does.
	Linger time.Duration
	// TailBytes is what a lane that begins here keeps of its newest batches in memory. Zero: 4 MiB.
	TailBytes int
	// WindowBytes is how far a peer may be ahead of what a lane that ends here has finished. Zero: 4 MiB (batch bytes).
	WindowBytes int
	// PublishWindow is the number of unconfirmed publishes of a lane. Zero: 2048, what 170 ms of the fastest lane measured are. Brokers on a
	// busy machine answer in bursts: with 512 a lane stood still between them, and both sites worked in small pieces (docs/benchmarks.md).
	PublishWindow int
	// MaxLanes bounds the lanes that end here, and with them the publishing channels. Zero: 256.
	MaxLanes int
	// StopGrace bounds the wait for unconfirmed publishes in a clean stop. Zero: 10 s.
	StopGrace time.Duration
	// UnwellPause is how long the store may fail before what is unacked goes back to the broker. Zero: 60 s, well below the
	// consumer timeout of RabbitMQ (30 min).
	UnwellPause time.Duration
}

func (c Config) withDefaults() (Config, error) {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&c.BatchEntries, 1024)
	set(&c.BatchBytes, 256<<10)
	set(&c.TailBytes, 4<<20)
	set(&c.WindowBytes, 4<<20)
	set(&c.PublishWindow, 2048)
	set(&c.MaxLanes, 256)
	setDuration(&c.Linger, 25*time.Millisecond)
	setDuration(&c.StopGrace, 10*time.Second)
	setDuration(&c.UnwellPause, time.Minute)
	if c.Name == "" {
		c.Name = string(c.Site)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.problems()
}

func (c Config) problems() error {
	var errs []error
	if c.Site == "" {
		errs = append(errs, errors.New("the site's name (Site) is empty"))
	}
	errs = append(errs, c.outOfRange()...)
	for _, part := range []struct {
		name    string
		missing bool
	}{{"spool", c.Spool == nil}, {"broker", c.Broker == nil}, {"peers", c.Peers == nil}, {"topology", c.Topology == nil}, {"properties", c.Properties == nil}} {
		if part.missing {
			errs = append(errs, fmt.Errorf("the %s is missing", part.name))
		}
	}
	return errors.Join(errs...)
}

// Most of what Config takes. Chosen above all need; WINDOW tells bytes in 32 bits, and each publish and lane takes memory.
const (
	maxMemory   = 1 << 30
	maxPublish  = 1 << 16
	maxMaxLanes = 1 << 16
)

func (c Config) outOfRange() (errs []error) {
	for _, n := range []struct {
		name     string
		is, most int
	}{
		{"batch entries (BatchEntries)", c.BatchEntries, federation.MaxEntries},
		{"batch bytes (BatchBytes)", c.BatchBytes, federation.MaxRawBatch},
		{"the bytes of a tail (TailBytes)", c.TailBytes, maxMemory},
		{"the bytes of a window (WindowBytes)", c.WindowBytes, maxMemory},
		{"the publish window (PublishWindow)", c.PublishWindow, maxPublish},
		{"the lanes that end here (MaxLanes)", c.MaxLanes, maxMaxLanes},
	} {
		if n.is < 1 || n.is > n.most {
			errs = append(errs, fmt.Errorf("%s: %d, want 1 to %d", n.name, n.is, n.most))
		}
	}
	if c.StopGrace < 0 {
		errs = append(errs, fmt.Errorf("the grace of a stop (StopGrace): %s, want more than 0", c.StopGrace))
	}
	if c.UnwellPause < 0 {
		errs = append(errs, fmt.Errorf("the pause while the store is unwell (UnwellPause): %s, want more than 0", c.UnwellPause))
	}
	return errs
}

func setDuration(v *time.Duration, def time.Duration) {
	if *v == 0 {
		*v = def
	}
}
