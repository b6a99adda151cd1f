package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
	"cloudqueue/sim/parts"
)

// The load of every run.
const (
	lane     = "a/events"
	size     = 1024
	maxAhead = 30_000 // published and not consumed: more than a bridge's prefetch, less than what makes a broker slow
	slowRate = 500
)

// Measurement is one run of one bridge.
type Measurement struct {
	Round             int
	Bridge            string
	MessagesPerSecond float64
	CPUPerMillion     map[string]float64 // seconds, by process
	ResidentMax       map[string]int64   // bytes, by process, over its life
	BytesPerMessage   float64            // between the sites
	P50, P99          time.Duration      // from publish to receipt at 500 messages a second
	Lost, Duplicates  int                // of the whole run, unflagged duplicates
}

// String is a line that shows progress.
func (m Measurement) String() string {
	var cpu strings.Builder
	for _, name := range slices.Sorted(maps.Keys(m.CPUPerMillion)) {
		fmt.Fprintf(&cpu, ", %s %.0f s/M", name, m.CPUPerMillion[name])
	}
	return fmt.Sprintf("round %d %-17s %7.0f msg/s, %5.0f B/msg, p50 %v, p99 %v%s, lost %d, duplicates %d", m.Round, m.Bridge,
		m.MessagesPerSecond, m.BytesPerMessage, m.P50.Round(10*time.Microsecond), m.P99.Round(10*time.Microsecond), cpu.String(), m.Lost, m.Duplicates)
}

// run sets a bridge up, measures it, and takes everything away.
func (l *lab) run(ctx context.Context, name string, o options) (m Measurement, err error) {
	b, err := l.bridge(ctx, name, o)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, b.stop(ctx), l.reset(ctx)) }()

	m.Bridge = name
	window := time.Duration(o.seconds) * time.Second
	if err := l.saturate(ctx, b, window, &m); err != nil {
		return m, fmt.Errorf("saturation: %w", err)
	}
	if err := l.trickle(ctx, b, window, &m); err != nil {
		return m, fmt.Errorf("latency: %w", err)
	}
	return m, nil
}

// flow is one publisher at a and one consumer at the bridge's end.
type flow struct {
	publisher *load.Publisher
	consumed  atomic.Int64
	appeared  []check.Appearance // owned by the consumer until it ended
	latencies load.Latencies     // owned by the consumer until it ended
	began     time.Time
	since     atomic.Int64 // from when on latencies count, in ns of Unix time; 0 is never
	stop      context.CancelFunc
	published chan error // the publisher's end
	finished  chan error // the consumer's end
}

func (l *lab) start(ctx context.Context, b *bridge, config load.PublisherConfig) *flow {
	f := &flow{began: time.Now(), published: make(chan error, 1), finished: make(chan error, 1)}
	config.URL, config.Exchange, config.RoutingKey, config.Lane, config.Size = l.a.URL(), exchange, "events.created", lane, size
	config.Consumed = func() int { return int(f.consumed.Load()) }
	f.publisher = load.NewPublisher(config)
	consumer := load.NewConsumer(load.ConsumerConfig{URL: b.consumeAt.URL(), Queue: b.queue, Handle: f.receive})
	ctx, f.stop = context.WithCancel(ctx)
	go func() { f.published <- f.publisher.Run(ctx) }()
	go func() { f.finished <- consumer.Run(ctx) }()
	return f
}

// receive leaves out what the consumer before had not acknowledged when it ended: the broker hands it out again.
func (f *flow) receive(r load.Received) {
	if r.Redelivered && r.Sent.Before(f.began) {
		return
	}
	f.consumed.Add(1)
	f.appeared = append(f.appeared, r.Appearance)
	if since := f.since.Load(); since > 0 && r.Sent.UnixNano() >= since {
		f.latencies.Add(r.At.Sub(r.Sent))
	}
}

// end finishes publishing, waits until everything arrived or nothing has for 20 s, and judges.
func (f *flow) end(ctx context.Context) (check.Verdict, error) {
	defer f.stop()
	f.publisher.Finish()
	publish := <-f.published
	_, confirmed := f.publisher.Counts()
	f.arrive(ctx, int64(confirmed))
	f.stop()
	consume := <-f.finished
	v := check.Judge(check.History{Lane: lane, Published: f.publisher.Published(), Appeared: f.appeared, Consumed: true})
	if v.Inversions.Count+v.Altered.Count+v.Alien.Count > 0 {
		return v, fmt.Errorf("the bridge did what it may not: %s", check.Report{Verdicts: []check.Verdict{v}})
	}
	return v, errors.Join(publish, consume)
}

// arrive waits until so many messages are consumed, or none came for 20 s.
func (f *flow) arrive(ctx context.Context, want int64) {
	last, since := int64(-1), time.Now()
	for time.Since(since) < 20*time.Second && ctx.Err() == nil {
		consumed := f.consumed.Load()
		if consumed >= want {
			return
		}
		if consumed != last {
			last, since = consumed, time.Now()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// sample is what is read at both ends of a window.
type sample struct {
	at       time.Time
	consumed int64
	bytes    uint64
	usage    map[string]parts.Usage
}

func (f *flow) sample(b *bridge) (sample, error) {
	s := sample{at: time.Now(), consumed: f.consumed.Load(), bytes: b.bytes(), usage: map[string]parts.Usage{}}
	for name, process := range b.processes {
		usage, err := parts.ReadUsage(process.PID())
		if err != nil {
			return s, err
		}
		s.usage[name] = usage
	}
	load, err := parts.ReadUsage(os.Getpid())
	s.usage["load and proxy"] = load
	if err != nil {
		return s, err
	}
	return s, nil
}

// saturate measures throughput, CPU and bytes over a window after a warm-up.
func (l *lab) saturate(ctx context.Context, b *bridge, window time.Duration, m *Measurement) error {
	f := l.start(ctx, b, load.PublisherConfig{Window: 5000, MaxAhead: maxAhead})
	if err := pause(ctx, window/3); err != nil {
		return err
	}
	before, err := f.sample(b)
	if err != nil {
		return err
	}
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, err := f.sample(b)
	if err != nil {
		return err
	}
	v, err := f.end(ctx)
	m.Lost, m.Duplicates = v.Lost.Count, v.Duplicates.Count
	m.fill(before, after)
	return err
}

// fill computes what a window showed.
func (m *Measurement) fill(before, after sample) {
	messages := float64(after.consumed - before.consumed)
	if messages == 0 {
		return
	}
	m.MessagesPerSecond = messages / after.at.Sub(before.at).Seconds()
	m.BytesPerMessage = float64(after.bytes-before.bytes) / messages
	m.CPUPerMillion, m.ResidentMax = map[string]float64{}, map[string]int64{}
	for name, usage := range after.usage {
		m.CPUPerMillion[name] = (usage.CPU - before.usage[name].CPU).Seconds() / messages * 1e6
		m.ResidentMax[name] = usage.ResidentMax
	}
}

// trickle measures latency at a low rate, after a warm-up.
func (l *lab) trickle(ctx context.Context, b *bridge, window time.Duration, m *Measurement) error {
	f := l.start(ctx, b, load.PublisherConfig{Rate: slowRate})
	if err := pause(ctx, window/3); err != nil {
		return err
	}
	f.since.Store(time.Now().UnixNano())
	if err := pause(ctx, window); err != nil {
		return err
	}
	v, err := f.end(ctx)
	m.Lost += v.Lost.Count
	m.Duplicates += v.Duplicates.Count
	m.P50, m.P99 = f.latencies.Quantile(0.5), f.latencies.Quantile(0.99)
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
