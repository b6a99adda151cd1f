package spool

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"cloudqueue/federation"
)

// Spool is the durable log of one router. Its methods may be called at once.
type Spool struct {
	store    Segments
	cfg      Config
	logger   *slog.Logger
	identity Identity
	readOnly bool
	extents  *extentCache
	readers  *readers

	work chan struct{} // capacity 1: the queue is not empty, or Close was called
	tidy chan struct{} // capacity 1: the keeper has something to look at
	done chan struct{} // closed when Run has returned; Close waits for it

	mu      sync.Mutex // guards all below; never held while the store works
	state   *state
	queue   queue
	health  Health
	space   fullness
	writing time.Time // when the writer took the group that it writes; zero when it has none
	free    uint64    // the store's own word, refreshed after each group and by the keeper, less what was written since
	total   uint64    // of the store's disk
	used    uint64    // bytes of all segments
	corrupt []*CorruptError

	closing bool
	ended   error              // why nothing can be written any more; nil while it can
	fenced  error              // the keeper found that another process has claimed the store
	cancel  context.CancelFunc // of Run; nil before it

	numbers  uint64         // the highest segment number used
	previous uint64         // number of the last segment in which groups became durable
	ahead    *openSegment   // opened ahead by the keeper, taken by the writer
	aheadOf  uint64         // the number that previous was then
	retired  []*openSegment // closed by the writer; the keeper gives them their footers
	garbage  []uint64       // segments that hold nothing, newest first; the keeper removes them

	// The writer alone uses these.
	active *openSegment
	buffer []byte
}

// Open claims the store, finds out what it holds, and writes, into a new segment, what decides once for all where the
// log ends. The spool owns the store from the call on, and closes it when Open fails; an ErrNoSpace may be tried again
// with a store that is opened again. Other errors: ErrHeld, ErrNotInitialised, a *CorruptError when marks may be lost,
// federation.ErrVersion or ErrUnknownCritical when a later version wrote the store. Nothing is written after Open
// before Run.
func Open(ctx context.Context, store Segments, cfg Config) (*Spool, error) {
	s, err := open(ctx, store, cfg)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

func open(ctx context.Context, store Segments, cfg Config) (*Spool, error) {
	identity, err := store.Claim(ctx, time.Now())
	if err != nil {
		return nil, fmt.Errorf("claim the store: %w", err)
	}
	s, r, err := load(ctx, store, cfg, identity)
	if err != nil {
		return nil, err
	}
	if err := s.begin(ctx, r); err != nil {
		return nil, fmt.Errorf("begin epoch %d: %w", identity.Epoch, err)
	}
	s.logger.Info("spool open", "store", identity.Store, "epoch", identity.Epoch, "last", s.state.last,
		"segments", len(s.state.segments), "rewritten", len(r.held), "corrupt", len(s.corrupt))
	s.sayWhenSmall()
	return s, nil
}

// sayWhenSmall says that the disk takes no message, however empty it is.
func (s *Spool) sayWhenSmall() {
	var disk *DiskFullError
	if errors.As(s.Health().Full, &disk) && disk.Small() {
		s.logger.Error("disk smaller than the reserve", "epoch", s.identity.Epoch, "err", disk, "fix", disk.Fix())
	}
}

// maxReadOnlyTries bounds how often OpenReadOnly begins again because a segment went away under it. Chosen: each try
// takes as long as a segment lives in the worst case.
const maxReadOnlyTries = 10

// OpenReadOnly finds out what a store holds, without a claim and without writing anything: a router may be running on
// it. Run, Submit and Commit give ErrReadOnly.
func OpenReadOnly(ctx context.Context, store Segments, cfg Config) (*Spool, error) {
	for try := 1; ; try++ {
		s, err := openReadOnly(ctx, store, cfg)
		if err == nil {
			return s, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == maxReadOnlyTries {
			return nil, errors.Join(err, store.Close())
		}
	}
}

func openReadOnly(ctx context.Context, store Segments, cfg Config) (*Spool, error) {
	identity, err := store.Identify(ctx)
	if err != nil {
		return nil, fmt.Errorf("identify the store: %w", err)
	}
	s, r, err := load(ctx, store, cfg, identity)
	if err != nil {
		return nil, err
	}
	s.readOnly, s.ended = true, ErrReadOnly
	return s, s.showHeld(r)
}

// load reads the store and makes the spool that goes on from there.
func load(ctx context.Context, store Segments, cfg Config, identity Identity) (*Spool, *recovery, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cache := newExtentCache()
	r := &recovery{store: store, identity: identity, logger: cfg.Logger, accept: cfg.Accept != nil, cache: cache}
	if err := r.run(ctx); err != nil {
		return nil, nil, err
	}
	var used, highest uint64
	for _, f := range r.found {
		used, highest = used+uint64(f.size), max(highest, f.number)
	}
	cfg, err := cfg.withDefaults(ctx, store, used)
	if err != nil {
		return nil, nil, err
	}
	s := &Spool{
		store: store, cfg: cfg, logger: cfg.Logger, identity: identity, extents: cache, readers: newReaders(store),
		work: make(chan struct{}, 1), tidy: make(chan struct{}, 1), done: make(chan struct{}),
		state: r.state, queue: newQueue(cfg.MaxQueuedBytes), corrupt: r.stretches, numbers: highest,
		garbage: r.leftovers, health: Health{Since: time.Now()},
	}
	s.free, s.total, err = store.Space(ctx)
	for _, g := range s.state.inOrder() {
		s.used += uint64(g.size)
		if g.first != 0 {
			s.previous = g.number()
		}
	}
	s.look()
	return s, r, err
}

// Identity is who the store is, with the epoch of this opening.
func (s *Spool) Identity() Identity { return s.identity }

// Place names the store for people: its folder.
func (s *Spool) Place() string { return s.store.Place() }

// LastLSN is the LSN of the last group that is durable.
func (s *Spool) LastLSN() federation.LSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.last
}

// Forget is the promise never to ask again for offsets up to upTo. Forget is not durable: after a restart what is still
// stored shows again, until it is forgotten again. Space comes back when a segment holds nothing else, or is cleaned.
func (s *Spool) Forget(lane federation.Lane, gen federation.Generation, upTo federation.Offset) {
	s.mu.Lock()
	emptied := s.state.index.forget(laneKey{lane, gen}, upTo)
	s.mu.Unlock()
	if emptied {
		notify(s.tidy)
	}
}

// notify wakes the one that receives from c, which has capacity 1.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// newSalt is random: nobody outside may know it.
func newSalt() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}
