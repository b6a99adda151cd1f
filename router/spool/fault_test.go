package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

var errDisk = errors.New("input/output error")

func TestAnIdleStoreWritesASubmissionAtOnceAndCollectsWhileItSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		defer s.close()
		s.commit(spool.MarkRecord{Key: receipt("warm"), Value: []byte("up")})
		synctest.Wait()
		disk.SetFault(func(op memstore.Op) memstore.Fault {
			if op.Kind == memstore.OpSync {
				return memstore.Fault{Delay: 100 * time.Millisecond}
			}
			return memstore.Fault{}
		})
		begin := time.Now()
		first := s.submit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("1")})
		time.Sleep(10 * time.Millisecond)
		if h := s.Health(); h.Err != nil || !h.Writing.Equal(begin) {
			t.Errorf("health during a slow sync %+v, want a write since %v", h, begin)
		}
		lsn := s.LastLSN()
		var rest []*spool.Ticket
		for i := range 20 {
			rest = append(rest, s.submit(spool.MarkRecord{Key: receipt("orders"), Value: fmt.Append(nil, i)}))
		}
		s.wait(first)
		if d := time.Since(begin); d != 100*time.Millisecond {
			t.Errorf("the first submission took %v, want one sync of 100ms", d)
		}
		for _, ticket := range rest {
			s.wait(ticket)
		}
		if d := time.Since(begin); d != 200*time.Millisecond {
			t.Errorf("20 submissions during a sync took until %v, want one more sync", d)
		}
		if got := s.LastLSN() - lsn; got != 2 {
			t.Errorf("%d groups, want 2", got)
		}
	})
}

func TestAGroupOfUnknownOutcomeIsWrittenAgainUntilTheStoreTakesIt(t *testing.T) {
	for _, kind := range []memstore.OpKind{memstore.OpWrite, memstore.OpSync, memstore.OpCreate} {
		for _, effect := range []float64{0, 0.5, 1} {
			t.Run(fmt.Sprintf("%s with effect %v", kind, effect), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testUnknownOutcome(t, kind, effect) })
			})
		}
	}
}

func testUnknownOutcome(t *testing.T, kind memstore.OpKind, effect float64) {
	disk := memstore.New(memstore.Options{})
	s := start(t, disk, small())
	s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)})
	synctest.Wait()
	lsn := s.LastLSN()
	failing := atomic.Bool{}
	failing.Store(true)
	disk.SetFault(func(op memstore.Op) memstore.Fault {
		if failing.Load() && (op.Kind == kind || op.Kind == memstore.OpSync && kind == memstore.OpCreate) {
			return memstore.Fault{Err: errDisk, Effect: effect}
		}
		return memstore.Fault{}
	})
	begin := time.Now()
	ticket := s.submit(spool.BatchRecord{Batch: sealed(t, "orders", 2, 1, 100)}, spool.MarkRecord{Key: receipt("orders"), Value: []byte("2")})
	time.Sleep(time.Minute)
	if h := s.Health(); !errors.Is(h.Err, errDisk) || !h.Since.Equal(begin) || h.Attempts < 10 {
		t.Errorf("health after a minute of failures: %+v, want the error since %v", h, begin)
	}
	if _, ok := s.Mark(receipt("orders")); ok {
		t.Error("a mark of a group that is not durable shows")
	}
	if n := len(disk.Numbers()); n > 3 {
		t.Errorf("%d segments, want the failed ones removed", n)
	}
	failing.Store(false)
	s.wait(ticket)
	if d := time.Since(begin); d > 66*time.Second {
		t.Errorf("durable only %v after the store was well again", d-time.Minute)
	}
	if h := s.Health(); h != (spool.Health{Since: time.Now()}) { // the clock stands still since the commit
		t.Errorf("health %+v after a commit", h)
	}
	if got := lsnOf(t, disk, 2); got != lsn+1 {
		t.Errorf("the batch is in group %d, want %d: it keeps its own", got, lsn+1)
	}
	s.abandon()
	disk.PowerOff(nil)
	s = start(t, disk, small())
	for first := federation.Offset(1); first <= 2; first++ {
		if _, err := s.Read(s.ctx, lane("orders"), born, first); err != nil {
			t.Errorf("read %d after a crash: %v", first, err)
		}
	}
	s.close()
}

func TestAFullStoreHoldsVisiblyAndResumesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		s.commit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("before")})
		disk.SetCapacity(0) // somebody else filled the disk
		ticket := s.submit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("after")})
		time.Sleep(10 * time.Second)
		if h := s.Health(); !errors.Is(h.Err, spool.ErrNoSpace) {
			t.Errorf("health %+v, want ErrNoSpace", h)
		}
		if !s.Usage().Full {
			t.Errorf("usage %+v, want full", s.Usage())
		}
		if err := s.Commit(s.ctx, spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)}); !errors.Is(err, spool.ErrFull) {
			t.Errorf("a batch: %v, want ErrFull", err)
		}
		disk.SetCapacity(1 << 30)
		s.wait(ticket)
		time.Sleep(2 * time.Second)
		s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)})
		s.close()
	})
}

func TestALostClaimEndsTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		s.commit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("mine")})
		disk.Kill() // the claim is gone
		next := start(t, disk, small())
		err := s.Commit(s.ctx, spool.MarkRecord{Key: receipt("orders"), Value: []byte("late")})
		if !errors.Is(err, spool.ErrFenced) {
			t.Errorf("commit of a fenced spool: %v, want ErrFenced", err)
		}
		if err := <-s.ran; !errors.Is(err, spool.ErrFenced) {
			t.Errorf("Run of a fenced spool: %v, want ErrFenced", err)
		}
		s.ran <- nil
		next.commit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("his")})
		next.close()
	})
}

func TestSubmitWaitsWhileTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		cfg := small()
		cfg.MaxQueuedBytes = 10_000
		s := start(t, disk, cfg)
		disk.SetFault(func(op memstore.Op) memstore.Fault {
			if op.Kind == memstore.OpSync {
				return memstore.Fault{Delay: time.Second}
			}
			return memstore.Fault{}
		})
		value := make([]byte, 4000)
		s.submit(spool.MarkRecord{Key: receipt("a"), Value: value})
		s.submit(spool.MarkRecord{Key: receipt("b"), Value: value})
		begin := time.Now()
		ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
		defer cancel()
		if _, err := s.Submit(ctx, spool.MarkRecord{Key: receipt("c"), Value: value}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("submit over the limit: %v, want the context's error", err)
		}
		s.submit(spool.MarkRecord{Key: receipt("d"), Value: value})
		if d := time.Since(begin); d != time.Second {
			t.Errorf("submit over the limit waited %v, want until the sync ended after 1s", d)
		}
		s.close()
	})
}

func TestCloseGivesUpOnAHangingStoreWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		synctest.Wait() // Run has begun
		disk.SetFault(func(op memstore.Op) memstore.Fault { return memstore.Fault{Err: errDisk} })
		ticket := s.submit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("x")})
		ctx, cancel := context.WithTimeout(s.ctx, 3*time.Second)
		defer cancel()
		begin := time.Now()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("close took %v, want its 3s", d)
		}
		if err := ticket.Wait(s.ctx); !errors.Is(err, spool.ErrClosed) {
			t.Errorf("a ticket of what could not be written: %v, want ErrClosed", err)
		}
		if _, err := s.Submit(s.ctx, spool.MarkRecord{Key: receipt("orders")}); !errors.Is(err, spool.ErrClosed) {
			t.Errorf("submit after close: %v, want ErrClosed", err)
		}
	})
}

func TestACleanCloseLetsTheNextOpeningReadFootersAlone(t *testing.T) {
	disk := memstore.New(memstore.Options{})
	s := start(t, disk, small())
	for i := federation.Offset(1); i <= 100; i++ {
		s.commit(spool.BatchRecord{Batch: sealed(t, "orders", i, 1, 500)})
	}
	s.close()
	s = start(t, disk, small())
	segments := s.Segments()
	for _, g := range segments[:len(segments)-1] {
		if !g.Footer {
			t.Errorf("segment %d has no footer after a clean close", g.Number)
		}
	}
	s.close()
}

// TestOpeningsThatNeverRunWriteNothingAgain is a router that fails to start, for a reason of its own, time and again.
func TestOpeningsThatNeverRunWriteNothingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		s := start(t, disk, small())
		s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)})
		s.abandon()
		disk.Kill()
		var log bytes.Buffer
		cfg := small()
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for range 5 {
			store, err := disk.Open()
			if err != nil {
				t.Fatal(err)
			}
			sp, err := spool.Open(t.Context(), store, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := sp.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := strings.Count(log.String(), "rewritten=0"); n != 4 {
			t.Errorf("%d of the later 4 openings write nothing again:\n%s", n, &log)
		}
	})
}

func (s *session) submit(records ...spool.Record) *spool.Ticket {
	s.t.Helper()
	ticket, err := s.Submit(s.ctx, records...)
	if err != nil {
		s.t.Fatalf("submit: %v", err)
	}
	return ticket
}

func (s *session) wait(ticket *spool.Ticket) {
	s.t.Helper()
	if err := ticket.Wait(s.ctx); err != nil {
		s.t.Fatalf("wait: %v", err)
	}
}

// lsnOf finds the group in which the batch that begins at first stands last.
func lsnOf(t *testing.T, disk *memstore.Disk, first federation.Offset) (lsn federation.LSN) {
	t.Helper()
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range slices.Sorted(slices.Values(disk.Numbers())) {
		err := spool.Walk(t.Context(), store, number, func(e spool.WalkedRecord) error {
			if b, ok := e.Record.(spool.BatchRecord); ok && b.Batch.Header.First == first {
				lsn = e.LSN
			}
			return nil
		}, func(*spool.CorruptError) {})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the keeper may remove it meanwhile
			t.Fatal(err)
		}
	}
	return lsn
}
