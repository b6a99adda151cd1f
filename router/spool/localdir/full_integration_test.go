//go:build integration && linux

package localdir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/smalldisk"
)

// smallDisk is a disk of so many bytes with a store on it.
func smallDisk(t *testing.T, size int) (mounted string, store folder) {
	t.Helper()
	mounted = t.TempDir()
	smalldisk.Mount(t, mounted, size)
	store = folder(filepath.Join(mounted, "spool"))
	if _, err := localdir.Init(string(store), home, birth); err != nil {
		t.Fatal(err)
	}
	return mounted, store
}

// commitUntilRefused commits 1, 2, 3 … until one is refused.
func commitUntilRefused(t *testing.T, sp *spool.Spool) (durable federation.Offset, refused error) {
	t.Helper()
	for n := federation.Offset(1); n < 500; n++ {
		if err := sp.Commit(t.Context(), recordsOf(t, n)...); err != nil {
			return n - 1, err
		}
	}
	t.Fatal("the disk does not get full")
	return 0, nil
}

func TestADiskThatTheSpoolFillsRefusesBatchesAndTakesMarksUntilThereIsSpace(t *testing.T) {
	mounted, store := smallDisk(t, 5<<20) // under the quota, over its reserve
	sp, _ := startOn(t, store)
	durable, refused := commitUntilRefused(t, sp)
	if durable < 100 || !errors.Is(refused, spool.ErrFull) || !sp.Usage().Full {
		t.Fatalf("after %d commits: %v, %+v; want ErrFull", durable, refused, sp.Usage())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := sp.Commit(ctx, spool.MarkRecord{Key: countKey, Value: []byte("12345678")}); err != nil {
		t.Errorf("a mark on the full disk: %v", err)
	}

	smalldisk.Resize(t, mounted, 16<<20)
	for sp.Usage().Full && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // the spool asks the disk from time to time; nobody tells when
	}
	if err := sp.Commit(ctx, recordsOf(t, durable+1)...); err != nil {
		t.Errorf("after there is space: %v", err)
	}
	t.Logf("%d commits of %d KiB fitted on 5 MiB", durable, bodySize>>10)
}

func TestADiskThatSomebodyElseFillsTakesMarksAsFarAsWhatWasSetAsideReachesAndHoldsThemThen(t *testing.T) {
	mounted, store := smallDisk(t, 4<<20)
	sp, stop := startOn(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sp.Commit(ctx, recordsOf(t, 1)...); err != nil {
		t.Fatal(err)
	}
	reserve := setAside(ctx, store)
	ballast, more := filepath.Join(mounted, "ballast"), filepath.Join(mounted, "more")
	smalldisk.Fill(t, ballast)
	for stat(reserve) == nil && ctx.Err() == nil {
		if err := sp.Commit(ctx, countOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sp.Commit(ctx, recordsOf(t, 2)...); !isDiskFull(err) {
		t.Errorf("a batch on the full disk: %v, want a DiskFullError", err)
	}

	smalldisk.Fill(t, more) // what was set aside is taken too
	held := commitUntilHeld(t, sp)
	if h := sp.Health(); h.Condition != spool.Unwell || !errors.Is(h.Err, spool.ErrNoSpace) || !errors.Is(h.Err, syscall.ENOSPC) {
		t.Errorf("health %+v, want ErrNoSpace", h)
	}
	if entries, err := os.ReadDir(string(store)); err != nil || len(entries) > 20 {
		t.Errorf("%d files after a second of trying, %v", len(entries), err)
	}

	if err := errors.Join(os.Remove(ballast), os.Remove(more)); err != nil {
		t.Fatal(err)
	}
	if err := held.Wait(ctx); err != nil {
		t.Fatalf("after there is space: %v, health %+v", err, sp.Health())
	}
	for sp.Usage().Full && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // the spool asks the disk from time to time; nobody tells when
	}
	if err := sp.Commit(ctx, recordsOf(t, 2)...); err != nil || sp.Health().Err != nil {
		t.Errorf("a batch, when there is space: %v, health %+v", err, sp.Health())
	}
	stop()
	sp, _ = startOn(t, store)
	if last, err := survived(sp, 0); err != nil || last != 2 {
		t.Errorf("commit %d is the last, %v; want 2", last, err)
	}
}

// setAside waits until the spool has set space aside.
func setAside(ctx context.Context, store folder) (reserve string) {
	reserve = filepath.Join(string(store), "RESERVE")
	for stat(reserve) != nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond) // the spool makes it beside the commits; nobody tells when
	}
	return reserve
}

func TestAStoreOnAFullDiskIsOpenedAndTakesMarks(t *testing.T) {
	mounted, store := smallDisk(t, 4<<20)
	sp, stop := startOn(t, store)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sp.Commit(ctx, recordsOf(t, 1)...); err != nil {
		t.Fatal(err)
	}
	reserve := setAside(ctx, store)
	stop()
	smalldisk.Fill(t, filepath.Join(mounted, "ballast"))

	sp, _ = startOn(t, store)
	if err := sp.Commit(ctx, countOf(1)); err != nil || stat(reserve) == nil {
		t.Errorf("a mark: %v; the reserve: %v", err, stat(reserve))
	}
	if last, err := survived(sp, 0); err != nil || last != 1 {
		t.Errorf("commit %d is the last, %v; want 1", last, err)
	}
}

func stat(path string) error {
	_, err := os.Stat(path)
	return err
}

// commitUntilHeld commits marks until one is not durable within a second.
func commitUntilHeld(t *testing.T, sp *spool.Spool) *spool.Ticket {
	t.Helper()
	for range 10_000 {
		ticket, err := sp.Submit(t.Context(), countOf(1))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err = ticket.Wait(ctx)
		cancel()
		if err != nil {
			return ticket
		}
	}
	t.Fatal("the disk does not get full")
	return nil
}
