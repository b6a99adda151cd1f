package spool_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

const born federation.Generation = 1_764_534_000_000

var nyc = federation.Destination{Site: "nyc"}

// small is a Config in which segments roll after a few groups.
func small() spool.Config { return spool.Config{SegmentSize: 4 << 10, Quota: 4 << 20} }

func lane(name string) federation.Lane {
	return federation.Lane{Origin: "ams", Route: federation.RouteID(name)}
}

func receipt(name string) federation.MarkKey {
	return federation.MarkKey{Kind: federation.MarkReceipt, Lane: lane(name), Generation: born, Dest: nyc}
}

// sealed is a batch of count entries of size bytes.
func sealed(t testing.TB, name string, first federation.Offset, count, size int) *federation.Batch {
	t.Helper()
	coder, err := federation.NewCoder()
	if err != nil {
		t.Fatal(err)
	}
	entries := make([]federation.Entry, count)
	for i := range entries {
		body := make([]byte, size)
		for j := range body {
			body[j] = byte(int(first)*131 + i*7 + j*31)
		}
		entries[i] = federation.Entry{TTL: federation.NoTTL, Message: federation.Message{RoutingKey: name, Properties: []byte{0, 0}, Body: body}}
	}
	h := federation.Header{
		Lane: lane(name), Generation: born, First: first, SealEpoch: 7, SealedAt: time.UnixMilli(1_764_534_000_123).UTC(),
		Destinations: []federation.Destination{nyc},
	}
	b, err := federation.Seal(h, entries, federation.CodecNone, coder)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// session is an opening with its Run.
type session struct {
	*spool.Spool
	t    testing.TB
	ctx  context.Context
	stop context.CancelFunc
	ran  chan error
	once sync.Once
}

func start(t testing.TB, disk *memstore.Disk, cfg spool.Config) *session {
	t.Helper()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, store, cfg)
}

func startOn(t testing.TB, store spool.Segments, cfg spool.Config) *session {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Minute)
	sp, err := spool.Open(ctx, store, cfg)
	if err != nil {
		stop()
		t.Fatalf("open: %v", err)
	}
	s := &session{Spool: sp, t: t, ctx: ctx, stop: stop, ran: make(chan error, 1)}
	go func() { s.ran <- sp.Run(ctx) }()
	t.Cleanup(s.abandon)
	return s
}

func (s *session) commit(records ...spool.Record) {
	s.t.Helper()
	if err := s.Commit(s.ctx, records...); err != nil {
		s.t.Fatalf("commit: %v", err)
	}
}

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
		<-s.ran
		_ = s.Close(s.ctx) // what a dead store says does not matter
	})
}
