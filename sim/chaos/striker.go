package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// striker executes a plan. Each part is struck by one strike at a time; one that overlaps waits for the part.
type striker struct {
	world      *World
	publishers *publishers
	watches    []*watch
	log        func(format string, args ...any)
	locks      map[string]*sync.Mutex // by part; the map does not change

	running sync.WaitGroup
	mu      sync.Mutex // guards what overlapping strikes add to
	toll    Toll
	errs    []error
}

func newStriker(w *World, p *publishers, watches []*watch, log func(string, ...any)) *striker {
	s := &striker{world: w, publishers: p, watches: watches, log: log, locks: map[string]*sync.Mutex{}}
	for _, kind := range Kinds {
		s.locks[part(kind)] = new(sync.Mutex)
	}
	return s
}

// run executes the plan and returns when every part is back and delivers.
func (s *striker) run(ctx context.Context, plan []Strike) error {
	for i, strike := range plan {
		if err := sleep(ctx, strike.After); err != nil {
			break
		}
		s.log("strike %d of %d: %s", i+1, len(plan), strike)
		back := make(chan struct{})
		s.running.Go(func() { s.note(strike, s.watched(ctx, strike, back)) })
		if !strike.Overlap {
			<-back
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

// watched strikes when enough is in flight, closes back when the part is back, and returns when messages that were
// published after the strike have come out of every queue behind the part.
func (s *striker) watched(ctx context.Context, strike Strike, back chan<- struct{}) error {
	behind := s.behind(strike.Kind)
	struck := Struck{Strike: strike}
	at, wounds, err := s.once(ctx, &struck, behind, back)
	if err != nil {
		return err
	}
	for i, wound := range wounds {
		select {
		case healed := <-wound.healed:
			struck.Again = max(struck.Again, healed.Sub(at))
		case <-time.After(settleTime):
			return fmt.Errorf("nothing published afterwards came out of %s within %v", behind[i].outlet, settleTime)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.log("%s: %d in flight, delivery again after %v", strike.Kind, struck.InFlight, struck.Again.Round(time.Millisecond))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toll = append(s.toll, struck)
	return nil
}

// behind are the watches of the outlets that get their messages through the part.
func (s *striker) behind(k Kind) []*watch {
	var behind []*watch
	for _, w := range s.watches {
		if w.passes(sites(k)) {
			behind = append(behind, w)
		}
	}
	return behind
}

// once holds the part's lock from the count of what is in flight until the part is back.
func (s *striker) once(ctx context.Context, struck *Struck, behind []*watch, back chan<- struct{}) (at time.Time, wounds []*wound, err error) {
	defer close(back)
	lock := s.locks[part(struck.Kind)]
	lock.Lock()
	defer lock.Unlock()
	if struck.InFlight, err = s.crowd(ctx, behind); err != nil {
		return at, nil, err
	}
	at = time.Now()
	for _, w := range behind {
		wounds = append(wounds, w.strike(at))
	}
	return at, wounds, s.world.strike(ctx, struck.Strike)
}

// enough is what must be in flight through a part when it is struck; crowdTime bounds the wait for it, which includes
// that an earlier strike's part starts again.
const (
	enough    = 100
	crowdTime = 2 * time.Minute
)

// crowd lets the publishers hurry until enough is in flight: how much. The routers take what comes at a run's rate within
// milliseconds, so that mostly a few dozen are on their way.
func (s *striker) crowd(ctx context.Context, behind []*watch) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, crowdTime)
	defer cancel()
	s.publishers.hurry(1)
	defer s.publishers.hurry(-1)
	for {
		inFlight := messages(behind)
		if inFlight >= enough {
			return inFlight, nil
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return 0, fmt.Errorf("%d in flight, not %d within %v: %w", inFlight, enough, crowdTime, err)
		}
	}
}

// messages is how many are in flight: one that is for several outlets of its lane is one.
func messages(behind []*watch) (n int) {
	most := map[string]int{}
	for _, w := range behind {
		most[w.lane.name()] = max(most[w.lane.name()], w.inFlight())
	}
	for _, m := range most {
		n += m
	}
	return n
}
