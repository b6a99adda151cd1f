package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloudqueue/sim/check"
	"cloudqueue/sim/load"
)

// Config describes a run.
type Config struct {
	Rate  float64       // messages per second and lane
	Plan  []Strike      // empty: a run without faults
	Quiet time.Duration // of load after the last strike, so that what it broke is used again
	Log   func(format string, args ...any)
}

// seed is of the bodies; they may be the same in every run.
const seed = 1

// settleTime bounds how long the backlog may take after the last strike. The routers redial and drain within seconds.
const settleTime = 3 * time.Minute

// Run publishes on every lane while it executes the plan, waits until everything has arrived, stops the routers, and
// judges the queues, which it empties. Its report is not OK if a guarantee is broken; its error is about the run itself.
//
// It leaves the routers stopped; World.Restart starts them for another run.
func (w *World) Run(ctx context.Context, config Config) (check.Report, Toll, error) {
	publishers := w.publish(ctx, config)
	toll, err := w.execute(ctx, config, publishers)
	err = errors.Join(err, publishers.finish())
	if err != nil {
		return check.Report{}, toll, err
	}
	settled := w.settle(ctx, publishers)
	if settled != nil {
		config.Log("not settled: %v", settled) // what is missing is lost, and the report names it
	}
	report, err := w.judge(ctx, publishers)
	report.Faultless = len(config.Plan) == 0
	return report, toll, err
}

// execute carries out the plan under the eyes of the watches.
func (w *World) execute(ctx context.Context, config Config, p *publishers) (Toll, error) {
	watches, stop, err := w.watch(ctx, p)
	if err != nil {
		return nil, err
	}
	defer stop()
	s := newStriker(w, p, watches, config.Log)
	err = s.run(ctx, config.Plan)
	return s.toll, errors.Join(err, sleep(ctx, config.Quiet))
}

// Restart starts the routers again after a run, and returns when the lanes take messages.
func (w *World) Restart(ctx context.Context) error {
	if err := w.sites.Start(ctx); err != nil {
		return err
	}
	return w.waitBound(ctx)
}

// publishers are one for each lane, by its name.
type publishers struct {
	byLane map[string]*load.Publisher
	ended  chan error

	mu      sync.Mutex // guards hurries: strikes overlap
	hurries int        // strikes that wait until enough is in flight
}

func (w *World) publish(ctx context.Context, config Config) *publishers {
	p := &publishers{byLane: map[string]*load.Publisher{}, ended: make(chan error, len(lanes))}
	for _, l := range lanes {
		publisher := load.NewPublisher(load.PublisherConfig{
			URL: w.brokerURL(l.site), Exchange: l.exchange, RoutingKey: l.exchange + ".created", Lane: l.name(), Seed: seed, Rate: config.Rate,
		})
		p.byLane[l.name()] = publisher
		go func() { p.ended <- publisher.Run(ctx) }()
	}
	return p
}

// hurry adds one to those who want everybody to publish as fast as confirms allow, or takes one away.
func (p *publishers) hurry(wishes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hurries += wishes
	for _, publisher := range p.byLane {
		publisher.Hurry(p.hurries > 0)
	}
}

// finish waits until every publish is confirmed.
func (p *publishers) finish() error {
	var errs []error
	for _, publisher := range p.byLane {
		publisher.Finish()
	}
	for range p.byLane {
		errs = append(errs, <-p.ended)
	}
	return errors.Join(errs...)
}

// settle waits until every destination queue has at least as many messages as its lane's publisher has confirms, the
// source queues are empty, and neither changed for 3 s: nothing is on its way.
func (w *World) settle(ctx context.Context, p *publishers) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	var last string
	var since time.Time
	return until(ctx, func() error {
		depths, missing, err := w.depths(ctx, p)
		if err != nil {
			return err
		}
		if depths != last {
			last, since = depths, time.Now()
		}
		if missing != nil || time.Since(since) < 3*time.Second {
			return fmt.Errorf("queues hold %s: %w", depths, missing)
		}
		return nil
	})
}

// depths describes all queues; missing says which of them waits for what.
func (w *World) depths(ctx context.Context, p *publishers) (depths string, missing, err error) {
	for _, l := range lanes {
		_, confirmed := p.byLane[l.name()].Counts()
		left, err := load.Depth(ctx, w.brokerURL(l.site), l.sourceQueue())
		if err != nil {
			return "", nil, err
		}
		depths += fmt.Sprintf(" %s:%d", l.sourceQueue(), left)
		if left > 0 {
			missing = errors.Join(missing, fmt.Errorf("%d in %s", left, l.sourceQueue()))
		}
		for _, o := range l.outlets {
			depth, err := load.Depth(ctx, w.brokerURL(o.site), o.queue)
			if err != nil {
				return "", nil, err
			}
			depths += fmt.Sprintf(" %s:%d", o, depth)
			if depth < confirmed {
				missing = errors.Join(missing, fmt.Errorf("%s at %s has %d of %d", o.queue, o.site, depth, confirmed))
			}
		}
	}
	return depths, missing, nil
}

func (o outlet) String() string { return o.site + " " + o.queue }

// judge asks the books, stops the routers, asks the books again from the stores, empties the queues, and compares.
func (w *World) judge(ctx context.Context, p *publishers) (check.Report, error) {
	online, err := w.books(ctx)
	if err != nil {
		return check.Report{}, fmt.Errorf("books: %w", err)
	}
	if err := w.stopRouters(ctx); err != nil {
		return check.Report{}, err
	}
	offline, err := w.books(ctx, "--offline")
	if err != nil {
		return check.Report{}, fmt.Errorf("books --offline: %w", err)
	}
	var report check.Report
	for _, l := range lanes {
		for _, o := range l.outlets {
			appeared, err := load.Drain(ctx, w.brokerURL(o.site), o.queue, seed)
			if err != nil {
				return report, err
			}
			report.Verdicts = append(report.Verdicts, check.Judge(check.History{
				Lane: l.name(), Queue: o.String(), Published: p.byLane[l.name()].Published(), Appeared: appeared, Routed: true,
			}))
			w.count(l, o, appeared)
		}
	}
	return report, errors.Join(w.compare("books", online), w.compare("books --offline", offline))
}

func (w *World) stopRouters(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var errs []error
	for _, site := range siteNames {
		errs = append(errs, w.sites.Site(site).Stop(ctx))
	}
	return errors.Join(errs...)
}
