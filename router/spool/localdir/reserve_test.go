package localdir_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
)

// fill leaves no byte of the disk free, as if somebody else had taken them.
func fill(t testing.TB, disk *crashdisk.Disk) {
	t.Helper()
	free, total, err := disk.Space()
	if err != nil {
		t.Fatal(err)
	}
	disk.SetCapacity(total - free)
}

// killedOnAFullDisk is what a spool leaves that set space aside, committed something, and was killed when its disk was full.
func killedOnAFullDisk(t *testing.T) *crashdisk.Disk {
	t.Helper()
	disk := crashdisk.New(8 << 20)
	if _, err := localdir.InitFiles(disk, home, birth); err != nil {
		t.Fatal(err)
	}
	sp, _ := startOn(t, onDisk{disk})
	for range 5 {
		if err := sp.Commit(t.Context(), countOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	waitForReserve(t, disk)
	killed := disk.Survivor()
	fill(t, killed)
	return killed
}

func waitForReserve(t *testing.T, disk *crashdisk.Disk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		if info, err := disk.Stat("RESERVE"); err == nil && info.Size == smallSpool().SegmentSize {
			return
		}
		time.Sleep(time.Millisecond) // the keeper makes it beside the commits; nobody tells when
	}
	t.Fatal("no space was set aside")
}

func countOf(n uint64) spool.Record {
	return spool.MarkRecord{Key: countKey, Value: binary.LittleEndian.AppendUint64(nil, n)}
}

func TestARouterThatWasKilledStartsOnAFullDiskAndItsMarksGoOn(t *testing.T) {
	disk := killedOnAFullDisk(t)
	for n := uint64(2); n <= 6; n++ { // each opening begins a segment
		sp, stop := startOn(t, onDisk{disk})
		if err := sp.Commit(t.Context(), recordsOf(t, 1)...); !errors.Is(err, spool.ErrFull) {
			t.Fatalf("opening %d: a batch: %v, want ErrFull", n, err)
		}
		for range 10 {
			if err := sp.Commit(t.Context(), countOf(n)); err != nil {
				t.Fatal(err)
			}
		}
		if h := sp.Health(); !isDiskFull(h.Full) {
			t.Errorf("opening %d: health %+v", n, h)
		}
		stop()
	}
	disk.SetCapacity(8 << 20)
	sp, _ := startOn(t, onDisk{disk})
	if value, _ := sp.Mark(countKey); binary.LittleEndian.Uint64(value) != 6 {
		t.Errorf("the mark is %v, want 6", value)
	}
	waitForReserve(t, disk)
	if err := sp.Commit(t.Context(), recordsOf(t, 1)...); err != nil {
		t.Errorf("a batch, when there is space: %v", err)
	}
}

func TestACopyOnAFullDiskGetsItsOwnIDAndStarts(t *testing.T) {
	disk := killedOnAFullDisk(t)
	ids, err := localdir.NewIDFiles(disk, birth)
	if err != nil {
		t.Fatal(err)
	}
	sp, _ := startOn(t, onDisk{disk})
	if id := sp.Identity(); id.Store != ids.New || len(id.Former) != 1 || id.Former[0] != ids.Old {
		t.Errorf("identity %+v, want %+v", id, ids)
	}
	if err := sp.Commit(t.Context(), countOf(2)); err != nil {
		t.Error(err)
	}
}

func isDiskFull(err error) bool {
	var full *spool.DiskFullError
	return errors.As(err, &full)
}

func TestARunningSpoolWhoseDiskSomebodyFillsTakesMarksAndRefusesBatches(t *testing.T) {
	disk := crashdisk.New(8 << 20)
	if _, err := localdir.InitFiles(disk, home, birth); err != nil {
		t.Fatal(err)
	}
	sp, _ := startOn(t, onDisk{disk})
	if err := sp.Commit(t.Context(), recordsOf(t, 1)...); err != nil {
		t.Fatal(err)
	}
	waitForReserve(t, disk)
	fill(t, disk)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := uint64(2); n < 100; n++ {
		if err := sp.Commit(ctx, countOf(n)); err != nil {
			t.Fatalf("mark %d: %v, health %+v", n, err, sp.Health())
		}
	}
	if err := sp.Commit(ctx, recordsOf(t, 2)...); !isDiskFull(err) || !errors.Is(err, spool.ErrFull) {
		t.Errorf("a batch: %v, want a DiskFullError", err)
	}
	if h := sp.Health(); h.Condition != spool.Full || h.Err != nil {
		t.Errorf("health %+v, want full", h)
	}
}

func TestAnOpeningOnAFullDiskKeepsEveryMarkWhereverItCrashes(t *testing.T) {
	disk := killedOnAFullDisk(t)
	var mu sync.Mutex // one moment at a time
	committed := uint64(1)
	states := 0
	examine := func(op crashdisk.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			return errDead
		}
		for image := range disk.Crashes() {
			states++
			if err := startsFull(image, committed); err != nil {
				t.Errorf("%s, state %d, %+v: %v", image.Outcome, states, op, err)
				return err
			}
		}
		return nil
	}
	disk.Before, disk.After = examine, examine
	for n := uint64(2); n <= 3; n++ {
		sp, stop := startOn(t, onDisk{disk})
		if err := sp.Commit(t.Context(), countOf(n)); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		committed = n
		mu.Unlock()
		stop()
	}
	disk.Before, disk.After = nil, nil
	t.Logf("%d states", states)
	if states < 200 { // 536 were seen; how many depends on what keeper and writer have in flight at once
		t.Errorf("%d states, want at least 200", states)
	}
}

// startsFull opens what a crash left on the full disk, and commits a mark.
func startsFull(image *crashdisk.Disk, least uint64) error {
	sp, stop, err := tryStart(onDisk{image})
	if err != nil {
		return err
	}
	value, _ := sp.Mark(countKey)
	if got := binary.LittleEndian.Uint64(value); got < least {
		return errors.Join(fmt.Errorf("mark %d, of which %d is committed", got, least), stop())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = sp.Commit(ctx, countOf(9))
	return errors.Join(err, stop())
}

func TestSpaceIsSetAsideOrNotWhereverThatCrashes(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	short, whole := 0, 0
	atEachCrash(t, disk, func() {
		for _, n := range []uint64{4096, 8192, 8192} {
			if err := dir.SetAside(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
	}, func(image *crashdisk.Disk) {
		if info, err := image.Stat("RESERVE"); err == nil && info.Size == 8192 {
			whole++
		} else {
			short++
		}
		after := claimed(t, image)
		if err := after.SetAside(t.Context(), 8192); err != nil {
			t.Errorf("after the crash: %v", err)
		}
		if info, err := image.Stat("RESERVE"); err != nil || info.Size != 8192 {
			t.Errorf("set aside after the crash: %+v, %v", info, err)
		}
	})
	if short == 0 || whole == 0 {
		t.Errorf("crashes left it short %d times, whole %d times; want some of both", short, whole)
	}
}

func TestSpaceThatIsNotThereIsNotSetAside(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	disk.SetCapacity(5000)
	if err := dir.SetAside(t.Context(), 8192); !errors.Is(err, spool.ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ErrNoSpace", err)
	}
	if _, err := disk.Stat("RESERVE"); err == nil {
		t.Error("what did not fit is left behind")
	}
}
