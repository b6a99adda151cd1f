package localdir_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
)

var (
	birth = time.UnixMilli(1_764_534_000_000)
	home  = spool.Home{Site: "ams", Federation: "acme"}
)

// atEachCrash calls check with every directory that a crash before or after any operation of script could leave.
func atEachCrash(t *testing.T, disk *crashdisk.Disk, script func(), check func(image *crashdisk.Disk)) {
	t.Helper()
	states := 0
	enumerate := func(crashdisk.Op) error {
		for image := range disk.Crashes() {
			states++
			check(image)
		}
		return nil
	}
	disk.Before, disk.After = enumerate, enumerate
	script()
	disk.Before, disk.After = nil, nil
	t.Logf("%d states", states)
}

func initialised(t *testing.T) (*crashdisk.Disk, spool.Identity) {
	t.Helper()
	disk := crashdisk.New(1 << 20)
	id, err := localdir.InitFiles(disk, home, birth)
	if err != nil {
		t.Fatal(err)
	}
	return disk, id
}

func claimed(t *testing.T, disk *crashdisk.Disk) *localdir.Dir {
	t.Helper()
	dir, err := localdir.OpenFiles(disk)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Claim(t.Context(), birth); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestInitLeavesNoStoreOrAWholeOneWhereverItCrashes(t *testing.T) {
	disk := crashdisk.New(1 << 20)
	whole, none := 0, 0
	atEachCrash(t, disk, func() {
		if _, err := localdir.InitFiles(disk, home, birth); err != nil {
			t.Fatal(err)
		}
	}, func(image *crashdisk.Disk) {
		_, err := localdir.OpenFiles(image)
		switch {
		case err == nil:
			whole++
		case errors.Is(err, spool.ErrNotInitialised):
			none++
			if _, err := localdir.InitFiles(image, home, birth); err != nil {
				t.Errorf("init cannot be done again: %v", err)
			}
		default:
			t.Errorf("open after the crash: %v", err)
		}
	})
	if whole == 0 || none == 0 {
		t.Errorf("crashes left %d whole stores and %d without one; want some of both", whole, none)
	}
}

func TestAnEpochIsNeverGivenTwiceWhereverClaimCrashes(t *testing.T) {
	disk, made := initialised(t)
	var acknowledged federation.Epoch
	atEachCrash(t, disk, func() {
		for range 3 {
			dir := claimed(t, disk)
			id, err := dir.Identify(t.Context())
			if err := errors.Join(err, dir.Close()); err != nil {
				t.Fatal(err)
			}
			acknowledged = id.Epoch
		}
	}, func(image *crashdisk.Disk) {
		dir, err := localdir.OpenFiles(image)
		if err != nil {
			t.Fatalf("open after the crash: %v", err)
		}
		id, err := dir.Claim(t.Context(), birth)
		if err != nil || id.Store != made.Store || id.Epoch <= acknowledged {
			t.Errorf("claim after the crash: %+v, %v; epoch %d was given before", id, err, acknowledged)
		}
	})
}

func TestNewIDLeavesTheOldIdentityOrTheNewWhereverItCrashes(t *testing.T) {
	disk, made := initialised(t)
	old, renamed := 0, 0
	atEachCrash(t, disk, func() {
		if _, err := localdir.NewIDFiles(disk, birth); err != nil {
			t.Fatal(err)
		}
	}, func(image *crashdisk.Disk) {
		dir, err := localdir.OpenFiles(image)
		if err != nil {
			t.Fatalf("open after the crash: %v", err)
		}
		id, _ := dir.Identify(t.Context())
		switch {
		case id.Store == made.Store && len(id.Former) == 0:
			old++
		case id.Store != made.Store && len(id.Former) == 1 && id.Former[0] == made.Store:
			renamed++
		default:
			t.Errorf("after the crash: id %v, former %v", id.Store, id.Former)
		}
	})
	if old == 0 || renamed == 0 {
		t.Errorf("crashes left the old identity %d times, the new one %d times; want some of both", old, renamed)
	}
}

func TestASegmentKeepsWhatWasSyncedWhereverItCrashes(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	created, removed, synced := false, false, 0
	content := []byte("the first group, then the second one")
	atEachCrash(t, disk, func() {
		w, err := dir.Create(t.Context(), 7)
		if err != nil {
			t.Fatal(err)
		}
		created = true
		for _, end := range []int{16, len(content)} {
			if _, err := w.Write(content[synced:end]); err != nil {
				t.Fatal(err)
			}
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			synced = end
		}
		created = false // from here on it may be gone
		if err := errors.Join(w.Close(), dir.Remove(t.Context(), 7)); err != nil {
			t.Fatal(err)
		}
		removed = true
		if err := dir.Remove(t.Context(), 7); err != nil {
			t.Errorf("removing again: %v", err)
		}
	}, func(image *crashdisk.Disk) {
		after, err := localdir.OpenFiles(image)
		if err != nil {
			t.Fatal(err)
		}
		r, err := after.Open(t.Context(), 7)
		if errors.Is(err, fs.ErrNotExist) && !created {
			return
		}
		if err != nil || removed {
			t.Fatalf("open after the crash: %v; created %v, removed %v", err, created, removed)
		}
		got := make([]byte, synced)
		if _, err := r.ReadAt(got, 0); synced > 0 && (err != nil || string(got) != string(content[:synced])) {
			t.Errorf("after the crash: %q, %v; want %q", got, err, content[:synced])
		}
	})
}

func TestAFailedSyncPoisonsTheSegmentForEver(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	w, err := dir.Create(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("group")); err != nil {
		t.Fatal(err)
	}
	asked := 0
	disk.Before = func(op crashdisk.Op) error {
		asked++
		return syscall.EIO
	}
	first := w.Sync(t.Context())
	disk.Before = nil // the kernel would say yes from here on
	_, write := w.Write([]byte("next"))
	for what, err := range map[string]error{"first sync": first, "write": write, "second sync": w.Sync(t.Context())} {
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v, want EIO", what, err)
		}
	}
	if asked != 1 {
		t.Errorf("the disk was asked %d times, want once", asked)
	}
}

func TestAFailedWritePoisonsTheSegmentForEver(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	w, err := dir.Create(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	disk.SetCapacity(200)
	n, err := w.Write(make([]byte, 4096))
	if n >= 4096 || !errors.Is(err, spool.ErrNoSpace) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write on a full disk: %d, %v", n, err)
	}
	disk.SetCapacity(1 << 20)
	if err := w.Sync(t.Context()); !errors.Is(err, spool.ErrNoSpace) {
		t.Errorf("sync after the failed write: %v", err)
	}
}

func TestAnErrorAfterTheEffectOfCreateLeavesNoSegmentThatIsUsed(t *testing.T) {
	disk, _ := initialised(t)
	dir := claimed(t, disk)
	disk.After = func(op crashdisk.Op) error {
		if op.Kind == crashdisk.SyncNames {
			return syscall.EIO
		}
		return nil
	}
	if _, err := dir.Create(t.Context(), 1); !errors.Is(err, syscall.EIO) {
		t.Errorf("create: %v, want EIO", err)
	}
	disk.After = nil
	if segments, err := dir.List(t.Context()); err != nil || len(segments) != 0 {
		t.Errorf("left behind: %v, %v", segments, err)
	}
}
