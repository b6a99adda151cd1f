package crashdisk_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
)

// outcomes gives every directory that a crash could leave now, as "name=content" lines.
func outcomes(t *testing.T, disk *crashdisk.Disk) []string {
	t.Helper()
	seen := map[string]bool{}
	for image := range disk.Crashes() {
		seen[render(t, image)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func render(t *testing.T, disk *crashdisk.Disk) string {
	t.Helper()
	infos, err := disk.List()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, info := range infos {
		source, err := disk.Open(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		size, err := source.Size()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(io.NewSectionReader(source, 0, size))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, info.Name+"="+string(content))
	}
	return strings.Join(lines, " ")
}

// file makes a synced file with a durable name.
func file(t *testing.T, disk *crashdisk.Disk, name, content string) localdir.File {
	t.Helper()
	f, err := disk.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte(content))
	if err := errors.Join(err, f.Sync(), disk.Sync()); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhatWasSyncedIsInEveryOutcome(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	file(t, disk, "a", "one")
	if diff := cmp.Diff([]string{"a=one"}, outcomes(t, disk)); diff != "" {
		t.Error(diff)
	}
}

func TestUnsyncedBytesAreThereAreNotAreCutOrAreOthers(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	f := file(t, disk, "a", "one")
	if _, err := f.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	want := []string{"a=one", "a=one\x00\x00\x00", "a=onet", "a=onetw", "a=onetwo", "a=one\xa5\xa5\xa5"}
	if diff := cmp.Diff(want, outcomes(t, disk)); diff != "" {
		t.Error(diff)
	}
}

func TestUnsyncedNamesHappenedOrDidNotEachAlone(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	file(t, disk, "a", "one")
	_, err := disk.Create("b")
	if err := errors.Join(err, disk.Remove("a")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "a=one", "a=one b=", "b="}, outcomes(t, disk)); diff != "" {
		t.Error(diff)
	}
}

func TestARenameHappensWholeOrNotAtAll(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	file(t, disk, "a", "old")
	file(t, disk, "a.tmp", "new")
	if err := disk.Rename("a.tmp", "a"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a=new", "a=old a.tmp=new"}, outcomes(t, disk)); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedSyncIsNeverMadeGoodByTheNextOne(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	f := file(t, disk, "a", "one")
	if _, err := f.Write([]byte("2")); err != nil {
		t.Fatal(err)
	}
	disk.Before = func(crashdisk.Op) error { return syscall.EIO }
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("first sync: %v, want EIO", err)
	}
	disk.Before = nil
	if err := f.Sync(); err != nil {
		t.Fatalf("second sync: %v", err)
	}
	if diff := cmp.Diff([]string{"a=one", "a=one\x00", "a=one2", "a=one\xa5"}, outcomes(t, disk)); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageDoesNotShareItsFutureWithTheDisk(t *testing.T) {
	disk := crashdisk.New(1 << 10)
	f := file(t, disk, "a", "one")
	var images []*crashdisk.Disk
	for image := range disk.Crashes() {
		images = append(images, image)
	}
	if _, err := f.Write([]byte("two")); err != nil {
		t.Fatal(err)
	}
	if err := disk.Flip("a", 0, 0xff); err != nil {
		t.Fatal(err)
	}
	if got := render(t, images[0]); len(images) != 1 || got != "a=one" {
		t.Errorf("%d images, the first is %q", len(images), got)
	}
}

func TestAFullDiskTakesWhatFits(t *testing.T) {
	disk := crashdisk.New(5)
	f := file(t, disk, "a", "one")
	n, err := f.Write([]byte("two"))
	if free, _, _ := disk.Space(); n != 2 || !errors.Is(err, syscall.ENOSPC) || free != 0 {
		t.Errorf("wrote %d, %v, %d bytes free", n, err, free)
	}
}
