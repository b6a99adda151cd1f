package topology

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"cloudqueue/federation"
)

// FollowerConfig is what a Follower needs.
type FollowerConfig struct {
	Site       federation.SiteID // the router's own; a document without it is refused
	Federation string            // the router's own; a document of another one is refused; "": DefaultFederation
	Router     string            // names the process in reports
	Source     Source
	LastGood   string        // path of the last good copy, and before .begun of what begins; its folder must exist
	Reporter   Reporter      // nil: none
	Reread     time.Duration // how often the source is read without a sign of change; 0: 5 minutes, with jitter
	// for one read that the source does not end itself; 0: 10 s (chosen: twice what etcd needs over 250 ms with a lost
	// packet)
	Timeout time.Duration
	Logger  *slog.Logger // nil: discarded
}

// Follower follows a Source, and gives what a router shall run as Snapshots. Without its source it gives the last good
// copy. Methods may be called from any goroutine.
type Follower struct {
	cfg       FollowerConfig
	snapshots chan Snapshot
	reportNow chan struct{} // capacity 1: something changed
	current   *Snapshot     // owned by Run: the last one given
	// owned by Run: what an earlier process may have bound for a document that current does not follow; nil: nothing
	begun []federation.Source

	mu     sync.Mutex // guards status, which Run, Applied and Status use
	status Status
}

// Pauses after a source that did not answer; full jitter, so that the routers of a federation do not come back
// together.
const (
	firstPause    = time.Second
	longestPause  = 30 * time.Second
	defaultReread = 5 * time.Minute
)

// NewFollower checks the configuration. Nothing runs before Run.
func NewFollower(cfg FollowerConfig) (*Follower, error) {
	var problems []error
	if !federation.ValidName(string(cfg.Site)) {
		problems = append(problems, errors.New("the site's name is missing"))
	}
	if cfg.Source == nil {
		problems = append(problems, errors.New("the source of the topology is missing"))
	}
	if cfg.LastGood == "" {
		problems = append(problems, errors.New("the path of the last good copy is missing"))
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	cfg.Federation = cmp.Or(cfg.Federation, DefaultFederation)
	cfg.Reread = cmp.Or(cfg.Reread, defaultReread)
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Follower{cfg: cfg, snapshots: make(chan Snapshot, 1), reportNow: make(chan struct{}, 1)}
	f.status = Status{Source: cfg.Source.Name(), Origin: cfg.Source.Origin()}
	return f, nil
}

// Snapshots gives what to run: the last good copy first if there is one, then every accepted document. One that was not
// taken is replaced by a later one. The channel is never closed.
func (f *Follower) Snapshots() <-chan Snapshot { return f.snapshots }

// Run follows until ctx ends, and gives its error.
func (f *Follower) Run(ctx context.Context) error {
	f.startFromLastGood()
	f.startFromBegun()
	var reports sync.WaitGroup
	reports.Go(func() { f.report(ctx) })
	defer reports.Wait()
	for failures := 0; ; {
		if err := f.readAndWait(ctx); err != nil && ctx.Err() == nil {
			failures++
			f.sourceLost(err)
			pause(ctx, failures)
		} else {
			failures = 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (f *Follower) readAndWait(ctx context.Context) error {
	stored, err := f.readOnce(ctx)
	if err != nil {
		return err
	}
	f.sourceBack()
	f.consider(stored)
	return f.wait(ctx)
}

func (f *Follower) readOnce(ctx context.Context) (Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.Timeout)
	defer cancel()
	return f.cfg.Source.Read(ctx)
}

// wait ends after cfg.Reread without an error: a watch that has silently gone deaf costs that much, no more.
func (f *Follower) wait(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, f.cfg.Reread+rand.N(f.cfg.Reread/10+1))
	defer cancel()
	err := f.cfg.Source.Wait(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

func pause(ctx context.Context, failures int) {
	limit := longestPause
	if failures < 6 {
		limit = min(limit, firstPause<<(failures-1))
	}
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(limit) + time.Millisecond):
	}
}

func (f *Follower) startFromLastGood() {
	good, err := readLastGood(f.cfg.LastGood)
	if absent(err) {
		return
	}
	if err == nil {
		var document *Document
		if document, err = good.Open(f.cfg.LastGood); err == nil {
			f.give(Snapshot{Version: good.Version, Digest: good.Digest(), Document: document, Origin: OriginLastGood,
				Gone: good.gone, Left: good.left})
			return
		}
	}
	f.lastGoodBad(err)
}

func (f *Follower) startFromBegun() {
	begun, err := readBegun(f.cfg.LastGood)
	if err != nil && !absent(err) {
		f.lastGoodBad(err)
	}
	f.begun = begun
}

// give offers a snapshot in place of one that was not taken. Run is the only sender, so the second try finds room.
func (f *Follower) give(s Snapshot) {
	f.current = &s
	f.nowRunning(s)
	select {
	case <-f.snapshots:
	default:
	}
	f.snapshots <- s
}

// Begin tells that the router is about to bind queues for s: when it returns nil, no crash and no later document make a
// start forget these bindings. After an error the router binds nothing, and calls again.
func (f *Follower) Begin(ctx context.Context, s Snapshot) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	bindings := newestBindings(bindingsOf(s.bindings(f.cfg.Site)), nil)
	if s.Origin == OriginLastGood || len(bindings) == 0 {
		return nil // the copy names them
	}
	return writeBegun(f.cfg.LastGood, bindings)
}

// Applied tells that the router runs s, with all that follows from it durable. When it returns nil the copy on disk is
// s, also after a crash. After an error the router goes on, and calls again; a start in between may begin with an older
// document.
func (f *Follower) Applied(ctx context.Context, s Snapshot) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var err error
	if s.Origin != OriginLastGood {
		good := lastGood{Stored{Version: s.Version, Source: s.Document.Source(), Numbers: s.Document.numbers}, s.Origin,
			s.Gone, s.Left}
		if err = writeLastGood(f.cfg.LastGood, good, time.Now()); err == nil {
			endBegun(f.cfg.LastGood)
		}
	}
	f.nowApplied(s, err)
	return err
}
