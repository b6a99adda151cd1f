package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// patience bounds every wait of the suite. Chosen: far beyond what a slow disk takes, so that only a hang runs into it.
const patience = 30 * time.Second

// small is a Config in which segments roll after a few groups.
func small() spool.Config {
	return spool.Config{SegmentSize: 64 << 10, Quota: 64 << 20}
}

// session is one opening of a Place with its Run.
type session struct {
	*spool.Spool
	t     testing.TB
	place Place
	ctx   context.Context
	stop  context.CancelFunc
	ran   chan error
	once  sync.Once // abandon
}

// open opens the place; the session ends with the test.
func open(t testing.TB, place Place, cfg spool.Config) *session {
	t.Helper()
	s, err := tryOpen(t, place, cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

func tryOpen(t testing.TB, place Place, cfg spool.Config) (*session, error) {
	t.Helper()
	store, err := place.Open()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(context.Background(), patience)
	sp, err := spool.Open(ctx, store, cfg)
	if err != nil {
		stop()
		return nil, err
	}
	s := &session{Spool: sp, t: t, place: place, ctx: ctx, stop: stop, ran: make(chan error, 1)}
	go func() { s.ran <- sp.Run(ctx) }()
	t.Cleanup(s.abandon)
	return s, nil
}

// close ends the session in good order.
func (s *session) close() {
	s.t.Helper()
	if err := s.Close(s.ctx); err != nil {
		s.t.Fatalf("close: %v", err)
	}
	s.abandon()
}

// abandon ends the session as it is. It may be called again.
func (s *session) abandon() {
	s.once.Do(func() {
		s.stop()
		select {
		case <-s.ran:
			_ = s.Close(s.ctx) // what a dead store says does not matter
		case <-time.After(patience):
			s.t.Errorf("Run did not end")
		}
	})
}

// commit commits records and fails the test when that fails.
func (s *session) commit(records ...spool.Record) {
	s.t.Helper()
	if err := s.Commit(s.ctx, records...); err != nil {
		s.t.Fatalf("commit: %v", err)
	}
}

// Born is the generation that the fixtures use.
const born federation.Generation = 1_764_534_000_000

func lane(name string) federation.Lane {
	return federation.Lane{Origin: "ams", Route: federation.RouteID(name)}
}

var nyc = federation.Destination{Site: "nyc"}

var (
	coderOnce sync.Mutex // guards coder: one goroutine at a time may use it
	coder     *federation.Coder
)

// batch seals count entries from first on; the bodies say which they are and have size bytes each.
func batch(t testing.TB, name string, first federation.Offset, count, size int) *federation.Batch {
	t.Helper()
	coderOnce.Lock()
	defer coderOnce.Unlock()
	if coder == nil {
		var err error
		if coder, err = federation.NewCoder(); err != nil {
			t.Fatal(err)
		}
	}
	entries := make([]federation.Entry, count)
	for i := range entries {
		entries[i] = entry(name, first+federation.Offset(i), size)
	}
	h := federation.Header{
		Lane: lane(name), Generation: born, First: first, SealEpoch: 7,
		SealedAt:     time.UnixMilli(1_764_534_000_123).UTC(),
		Destinations: []federation.Destination{nyc},
	}
	b, err := federation.Seal(h, entries, federation.CodecNone, coder)
	if err != nil {
		t.Fatalf("seal %s %d: %v", name, first, err)
	}
	return b
}

func entry(name string, offset federation.Offset, size int) federation.Entry {
	body := fmt.Appendf(nil, "%s-%d|", name, offset)
	for i := 0; len(body) < size; i++ {
		body = append(body, byte(uint64(offset)*131+uint64(i)*31))
	}
	return federation.Entry{TTL: federation.NoTTL, Message: federation.Message{Exchange: "x", RoutingKey: "k",
		Properties: []byte{0, 0}, Body: body}}
}

func batchRecord(t testing.TB, name string, first federation.Offset, count, size int) spool.BatchRecord {
	t.Helper()
	return spool.BatchRecord{Batch: batch(t, name, first, count, size)}
}

func markKey(name string) federation.MarkKey {
	return federation.MarkKey{Kind: federation.MarkReceipt, Lane: lane(name), Generation: born, Dest: nyc}
}

func markRecord(name, value string) spool.MarkRecord {
	return spool.MarkRecord{Key: markKey(name), Value: []byte(value)}
}

func parkRecord(name string, offset federation.Offset, size int) spool.ParkRecord {
	at := time.UnixMilli(1_764_534_001_000).UTC()
	return spool.ParkRecord{
		Lane: lane(name), Generation: born, Offset: offset, Destination: nyc, Reason: "unroutable",
		Errors: "312 NO_ROUTE", Attempts: 2,
		First: at, Last: at.Add(time.Second), Taken: at.Add(-time.Minute), Entry: entry(name, offset, size),
	}
}

func unparkRecord(name string, offset federation.Offset) spool.UnparkRecord {
	p := parkRecord(name, offset, 0)
	return spool.UnparkRecord{Park: p.ID(), Outcome: "dropped", Who: "admin", Why: "test",
		At: time.UnixMilli(1_764_534_002_000).UTC()}
}
