package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cloudqueue/sim/parts"
)

// striker executes a plan. Each part is struck by one strike at a time; one that overlaps waits for the part.
type striker struct {
	world *World
	log   func(format string, args ...any)
	locks map[string]*sync.Mutex // by part; the map does not change

	running sync.WaitGroup
	mu      sync.Mutex // guards errs, which overlapping strikes add to
	errs    []error
}

func newStriker(w *World, log func(string, ...any)) *striker {
	s := &striker{world: w, log: log, locks: map[string]*sync.Mutex{}}
	for _, kind := range Kinds {
		s.locks[part(kind)] = new(sync.Mutex)
	}
	return s
}

// part names what a kind strikes.
func part(k Kind) string {
	switch k {
	case PauseAMS:
		return string(KillAMS)
	case PauseNYC:
		return string(KillNYC)
	}
	return string(k)
}

// run executes the plan and returns when every part is back.
func (s *striker) run(ctx context.Context, plan []Strike) error {
	for i, strike := range plan {
		if err := sleep(ctx, strike.After); err != nil {
			break
		}
		s.log("strike %d of %d: %s", i+1, len(plan), strike)
		over := make(chan struct{})
		s.running.Go(func() {
			defer close(over)
			s.note(strike, s.strike(ctx, strike))
		})
		if !strike.Overlap {
			<-over
		}
	}
	s.running.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(append(s.errs, ctx.Err())...)
}

func (s *striker) note(strike Strike, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, fmt.Errorf("%s: %w", strike, err))
}

// strike does one thing to one part and brings it back.
func (s *striker) strike(ctx context.Context, strike Strike) error {
	lock := s.locks[part(strike.Kind)]
	lock.Lock()
	defer lock.Unlock()
	w := s.world
	switch strike.Kind {
	case KillAMS:
		return kill(ctx, w.sites.Site("ams"), strike.Down)
	case KillNYC:
		return kill(ctx, w.sites.Site("nyc"), strike.Down)
	case KillSIN:
		return kill(ctx, w.sites.Site("sin"), strike.Down)
	case KillSource:
		return kill(ctx, w.source, strike.Down)
	case KillTarget:
		return kill(ctx, w.target, strike.Down)
	case KillEtcd:
		return kill(ctx, w.etcd, strike.Down)
	case PauseAMS:
		return pause(ctx, w.sites.Site("ams").Process(), strike.Down)
	case PauseNYC:
		return pause(ctx, w.sites.Site("nyc").Process(), strike.Down)
	}
	panic("chaos: no such kind: " + string(strike.Kind))
}

// killable is a part that starts again on its data: a router, etcd, RabbitMQ.
type killable interface {
	Kill()
	Start(context.Context) error
}

func kill(ctx context.Context, part killable, down time.Duration) error {
	part.Kill()
	if err := sleep(ctx, down); err != nil {
		return err
	}
	return part.Start(ctx)
}

func pause(ctx context.Context, process *parts.Process, down time.Duration) error {
	if err := process.Pause(); err != nil {
		return err
	}
	return errors.Join(sleep(ctx, down), process.Resume())
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until calls try four times a second until it returns nil or ctx ends; then the error carries try's last one.
func until(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		if sleep(ctx, 250*time.Millisecond) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
}
