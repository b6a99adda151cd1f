package topology_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"cloudqueue/topology"
)

// fakeSource is a source with faults: what it holds, an error, or no answer at all.
type fakeSource struct {
	origin topology.Origin

	mu      sync.Mutex // guards what tests change while the follower reads
	stored  topology.Stored
	err     error
	silent  bool // Read waits for its context
	deaf    bool // Wait misses changes
	changed chan struct{}
	reads   int
}

func newFakeSource(origin topology.Origin) *fakeSource {
	return &fakeSource{origin: origin, err: topology.ErrMissing, changed: make(chan struct{}, 1)}
}

func (s *fakeSource) Name() string            { return "fake" }
func (s *fakeSource) Origin() topology.Origin { return s.origin }

func (s *fakeSource) Read(ctx context.Context) (topology.Stored, error) {
	s.mu.Lock()
	s.reads++
	stored, err, silent := s.stored, s.err, s.silent
	s.mu.Unlock()
	if silent {
		<-ctx.Done()
		return topology.Stored{}, ctx.Err()
	}
	return stored, err
}

func (s *fakeSource) Wait(ctx context.Context) error {
	select {
	case <-s.changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeSource) set(change func(*fakeSource)) {
	s.mu.Lock()
	change(s)
	deaf := s.deaf
	s.mu.Unlock()
	if deaf {
		return
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *fakeSource) hold(version uint64, src string) {
	s.set(func(s *fakeSource) {
		s.stored, s.err, s.silent = topology.Stored{Version: version, Source: []byte(src)}, nil, false
	})
}

func (s *fakeSource) fail(err error) { s.set(func(s *fakeSource) { s.err = err }) }

// fakeReporter keeps the last report.
type fakeReporter struct {
	mu   sync.Mutex // guards both
	last topology.Report
	n    int
	err  error
}

func (r *fakeReporter) Report(_ context.Context, report topology.Report) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.n = report, r.n+1
	return r.err
}

func (r *fakeReporter) get() (topology.Report, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, r.n
}

// rig is a running follower of the site ams.
type rig struct {
	*topology.Follower
	t    *testing.T
	stop func()
}

// start runs a follower until the test or stop ends it. Use it inside synctest.Test.
func start(t *testing.T, source topology.Source, dir string, reporter topology.Reporter) *rig {
	t.Helper()
	f, err := topology.NewFollower(topology.FollowerConfig{Site: "ams", Router: "r1", Source: source, LastGood: filepath.Join(dir, "last-good.yaml"), Reporter: reporter})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("Run gave %v, want %v", err, context.Canceled)
		}
	})
	t.Cleanup(stop)
	return &rig{f, t, stop}
}

// next takes the snapshot that is there, applies it, and fails when there is none.
func (r *rig) next() topology.Snapshot {
	r.t.Helper()
	synctest.Wait()
	select {
	case s := <-r.Snapshots():
		if err := r.Applied(r.t.Context(), s); err != nil {
			r.t.Fatal(err)
		}
		synctest.Wait()
		return s
	default:
		r.t.Fatalf("no snapshot; status %+v", r.Status())
		panic("not reached")
	}
}

// none fails when a snapshot is there.
func (r *rig) none() {
	r.t.Helper()
	synctest.Wait()
	select {
	case s := <-r.Snapshots():
		r.t.Fatalf("snapshot of version %d from %s, want none", s.Version, s.Origin)
	default:
	}
}
