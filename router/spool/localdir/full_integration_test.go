//go:build integration && linux

package localdir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
)

// smallDisk mounts a file system of so many bytes until the test ends, and makes a store on it. It needs root, as mount(8)
// does.
func smallDisk(t *testing.T, size int) (mounted string, store folder) {
	t.Helper()
	mounted = t.TempDir()
	if err := syscall.Mount("tmpfs", mounted, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mounted, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	store = folder(filepath.Join(mounted, "spool"))
	if _, err := localdir.Init(string(store), birth); err != nil {
		t.Fatal(err)
	}
	return mounted, store
}

func resize(t *testing.T, mounted string, size int) {
	t.Helper()
	if err := syscall.Mount("tmpfs", mounted, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size)); err != nil {
		t.Fatal(err)
	}
}

// commitUntil commits 1, 2, 3 … until one is not durable within a second, or is refused.
func commitUntil(t *testing.T, sp *spool.Spool, from federation.Offset) (durable federation.Offset, held *spool.Ticket, refused error) {
	t.Helper()
	for n := from; n < from+500; n++ {
		ticket, err := sp.Submit(t.Context(), recordsOf(t, n)...)
		if err != nil {
			return n - 1, nil, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err = ticket.Wait(ctx)
		cancel()
		if err != nil {
			return n - 1, ticket, nil
		}
	}
	t.Fatal("the disk does not get full")
	return 0, nil, nil
}

func TestADiskThatTheSpoolFillsRefusesBatchesAndTakesMarksUntilThereIsSpace(t *testing.T) {
	mounted, store := smallDisk(t, 5<<20) // under the quota, over its reserve
	sp, _ := startOn(t, store)
	durable, _, refused := commitUntil(t, sp, 1)
	if durable < 100 || !errors.Is(refused, spool.ErrFull) || !sp.Usage().Full {
		t.Fatalf("after %d commits: %v, %+v; want ErrFull", durable, refused, sp.Usage())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := sp.Commit(ctx, spool.MarkRecord{Key: countKey, Value: []byte("12345678")}); err != nil {
		t.Errorf("a mark on the full disk: %v", err)
	}

	resize(t, mounted, 16<<20)
	for sp.Usage().Full && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond) // the spool asks the disk from time to time; nobody tells when
	}
	if err := sp.Commit(ctx, recordsOf(t, durable+1)...); err != nil {
		t.Errorf("after there is space: %v", err)
	}
	t.Logf("%d commits of %d KiB fitted on 5 MiB", durable, bodySize>>10)
}

func TestADiskThatSomebodyElseFillsHoldsCommitsUntilThereIsSpace(t *testing.T) {
	mounted, store := smallDisk(t, 4<<20)
	sp, stop := startOn(t, store)
	if err := sp.Commit(t.Context(), recordsOf(t, 1)...); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(mounted, "ballast")
	if err := fillDisk(ballast); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	durable, held, refused := commitUntil(t, sp, 2)
	if held == nil {
		t.Fatalf("after %d commits on a full disk: refused with %v before the disk said so", durable, refused)
	}
	if h := sp.Health(); !errors.Is(h.Err, spool.ErrNoSpace) || !errors.Is(h.Err, syscall.ENOSPC) {
		t.Errorf("health %+v, want ErrNoSpace", h)
	}
	if entries, err := os.ReadDir(string(store)); err != nil || len(entries) > 20 {
		t.Errorf("%d files after a second of trying, %v", len(entries), err)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := held.Wait(ctx); err != nil {
		t.Fatalf("after there is space: %v, health %+v", err, sp.Health())
	}
	if h := sp.Health(); h.Err != nil {
		t.Errorf("health after there is space: %+v", h)
	}
	stop()
	sp, _ = startOn(t, store)
	if last, err := survived(sp, 0); err != nil || last != durable+1 {
		t.Errorf("commit %d is the last, %v; want %d", last, err, durable+1)
	}
}

// fillDisk writes until there is no space.
func fillDisk(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return errors.Join(err, f.Close())
}
