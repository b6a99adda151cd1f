package spool_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// scarce is a store whose process has no file descriptors left while exhausted is true.
type scarce struct {
	spool.Segments
	exhausted    atomic.Bool
	made, opened atomic.Int64 // tries that failed
}

func (s *scarce) Create(ctx context.Context, number uint64) (spool.Writer, error) {
	if s.exhausted.Load() {
		s.made.Add(1)
		return nil, fmt.Errorf("create segment %d: %w", number, syscall.EMFILE)
	}
	return s.Segments.Create(ctx, number)
}

func (s *scarce) Open(ctx context.Context, number uint64) (spool.Reader, error) {
	if s.exhausted.Load() {
		s.opened.Add(1)
		return nil, fmt.Errorf("open segment %d: %w", number, syscall.EMFILE)
	}
	return s.Segments.Open(ctx, number)
}

func startScarce(t *testing.T) (*session, *scarce) {
	t.Helper()
	store, err := memstore.New(memstore.Options{}).Open()
	if err != nil {
		t.Fatal(err)
	}
	scarce := &scarce{Segments: store}
	return startOn(t, scarce, small()), scarce
}

func TestWithoutFileDescriptorsASegmentIsTriedWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := startScarce(t)
		store.exhausted.Store(true)
		for n := federation.Offset(1); n <= 4; n++ { // they fill the segment, and the one that was opened ahead
			s.submit(spool.BatchRecord{Batch: sealed(t, "orders", n, 1, 5000)})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		if n := store.made.Load(); n == 0 || n > 100 {
			t.Errorf("%d segments were tried in a minute, want some, and no more than one a second from keeper and writer each", n)
		}
		s.want(spool.Unwell, s.Health().Since)

		store.exhausted.Store(false)
		time.Sleep(10 * time.Second)
		s.want(spool.Running, s.Health().Since)
		s.close()
	})
}

func TestASegmentThatCouldNotBeReadToBeCleanedIsCleanedWhenItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := startScarce(t)
		for n := federation.Offset(1); n <= 8; n++ {
			s.commit(spool.BatchRecord{Batch: sealed(t, "busy", n, 1, 3000)}, parked("dead", n, 100))
		}
		time.Sleep(time.Minute)
		store.exhausted.Store(true)
		s.Forget(lane("busy"), born, 8) // its segments are pinned by parked messages
		time.Sleep(time.Minute)
		if n := store.opened.Load(); n == 0 || n > 1000 {
			t.Errorf("segments were tried %d times in a minute", n)
		}
		s.want(spool.Degraded, s.Health().Since)
		before := s.Usage()

		store.exhausted.Store(false)
		time.Sleep(10 * time.Second)
		s.want(spool.Running, s.Health().Since)
		if u := s.Usage(); u.Used > before.Used/2 || len(s.Parked()) != 8 {
			t.Errorf("used %d before and %d after, %d messages parked", before.Used, u.Used, len(s.Parked()))
		}
		s.close()
	})
}
