package spool_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/memstore"
)

// want checks the condition and since when it is that.
func (s *session) want(condition spool.Condition, since time.Time) {
	s.t.Helper()
	if h := s.Health(); h.Condition != condition || !h.Since.Equal(since) {
		s.t.Errorf("health %+v, want condition %d since %v", h, condition, since)
	}
}

func TestAStoreThatHangsIsUnwellSinceItWasAskedAndWellSinceItAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		opened := time.Now()
		s := start(t, disk, small())
		time.Sleep(time.Minute)
		s.want(spool.Running, opened)

		asked := time.Now()
		disk.SetFault(func(op memstore.Op) memstore.Fault { return memstore.Fault{Delay: time.Minute} })
		ticket := s.submit(spool.MarkRecord{Key: receipt("orders"), Value: []byte("late")})
		time.Sleep(9 * time.Second)
		s.want(spool.Running, opened) // it may be slow
		time.Sleep(time.Second)
		s.want(spool.Unwell, asked)
		s.wait(ticket)
		answered := time.Now()
		disk.SetFault(nil)
		time.Sleep(time.Minute)
		s.want(spool.Running, answered)
		s.close()
	})
}

func TestAFullStoreIsFullSinceItRefusedAndUntilWhatItRefusedFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := spool.Config{SegmentSize: 64 << 10, Quota: 1 << 20, LaneQuota: 1 << 20}
		s := start(t, memstore.New(memstore.Options{}), cfg)
		large := func(n federation.Offset) spool.Record {
			return spool.BatchRecord{Batch: sealed(t, "orders", n, 1, 100<<10)}
		}
		last := federation.Offset(0)
		for s.Fits(large(last+1)) == nil {
			last++
			s.commit(large(last))
			time.Sleep(time.Second)
		}
		refused := time.Now()
		if err := s.Commit(s.ctx, large(last+1)); !errors.Is(err, spool.ErrFull) {
			t.Fatalf("%v, want ErrFull", err)
		}
		s.want(spool.Full, refused)
		time.Sleep(time.Minute)
		s.want(spool.Full, refused)
		if err := s.Fits(spool.BatchRecord{Batch: sealed(t, "stock", 1, 1, 1000)}); err != nil {
			t.Errorf("a small batch: %v; a large one is in nobody's way", err)
		}

		s.Forget(lane("orders"), born, 1) // one segment comes back
		freed := time.Now()
		synctest.Wait()
		if err := s.Fits(large(last + 1)); err != nil {
			t.Errorf("with a segment less: %v", err)
		}
		s.want(spool.Running, freed)
		s.close()
	})
}

func TestAStoreWithACorruptStretchIsDegradedSinceItWasOpened(t *testing.T) {
	d := damageable(t, 40, false)
	number := slices.Min(slices.Collect(maps.Keys(groupEnds(d))))
	disk := d.disk.Clone()
	disk.SetSegment(number, nil)
	synctest.Test(t, func(t *testing.T) {
		opened := time.Now()
		s := start(t, disk, small())
		time.Sleep(time.Minute)
		s.want(spool.Degraded, opened)
		if c := s.Corrupt(); len(c) != 1 || c[0].Segment != number {
			t.Errorf("corrupt %v, want segment %d", c, number)
		}
		s.close()
	})
}

func TestAKeeperThatFailsIsSaidOnceAndUntilItDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		var lines bytes.Buffer
		cfg := small()
		cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		s := start(t, disk, cfg)
		disk.SetFault(func(op memstore.Op) memstore.Fault {
			if op.Kind == memstore.OpRemove {
				return memstore.Fault{Err: errDisk}
			}
			return memstore.Fault{}
		})
		for i := range federation.Offset(20) {
			s.commit(spool.BatchRecord{Batch: sealed(t, "orders", 1+i, 1, 1000)})
		}
		s.Forget(lane("orders"), born, 20)
		time.Sleep(time.Minute)

		if h := s.Health(); h.Condition != spool.Degraded || !errors.Is(h.Cleaning, errDisk) {
			t.Errorf("health while nothing can be removed: %+v", h)
		}
		if n := strings.Count(lines.String(), "store is not kept in order"); n != 1 {
			t.Errorf("said %d times in a minute:\n%s", n, lines.String())
		}
		disk.SetFault(nil)
		time.Sleep(2 * time.Second)
		if h := s.Health(); h.Condition != spool.Running || h.Cleaning != nil {
			t.Errorf("health afterwards: %+v", h)
		}
		s.close()
	})
}

func TestADiskSmallerThanTheReserveIsSaidAtTheStartWithTheQuotaThatItTakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := memstore.New(memstore.Options{})
		disk.SetCapacity(100 << 20)
		var log bytes.Buffer
		cfg := spool.Config{Quota: 4 << 30, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		s := start(t, disk, cfg)
		const why = "has 102400 KiB, less than the 262144 KiB"
		const fix = "in the router's file: store.quota: 95MiB, and no store.segment-size over 11MiB; then restart the router"
		for _, want := range []string{"level=ERROR", why, fix} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%q is not in the log:\n%s", want, log.String())
			}
		}
		var full *spool.DiskFullError
		batch := spool.BatchRecord{Batch: sealed(t, "orders", 1, 1, 100)}
		if err := s.Commit(s.ctx, batch); !errors.As(err, &full) || !strings.Contains(full.Error(), why) || full.Fix() != fix {
			t.Errorf("a batch: %v", err)
		}
		s.close()

		log.Reset()
		cfg.Quota, cfg.SegmentSize = 95<<20, 11<<20
		s = start(t, disk, cfg)
		s.commit(batch)
		if strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("with the quota that it said:\n%s", log.String())
		}
		s.close()
	})
}
