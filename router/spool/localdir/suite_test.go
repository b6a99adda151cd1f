package localdir_test

import (
	"path/filepath"
	"testing"

	"cloudqueue/router/spool"
	"cloudqueue/router/spool/localdir"
	"cloudqueue/router/spool/localdir/crashdisk"
	"cloudqueue/router/spool/storetest"
)

// folder is a store in a directory of the operating system.
type folder string

func (f folder) Open() (spool.Segments, error) { return localdir.Open(string(f)) }

func TestLocaldirPassesTheSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place {
		path := filepath.Join(t.TempDir(), "spool")
		if _, err := localdir.Init(path, home, birth); err != nil {
			t.Fatal(err)
		}
		return folder(path)
	})
}

func TestLocaldirOnADiskInMemoryPassesTheSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Place {
		disk := crashdisk.New(1 << 30)
		if _, err := localdir.InitFiles(disk, home, birth); err != nil {
			t.Fatal(err)
		}
		return newMachine(disk)
	})
}

func TestLocaldirSurvivesACrashAtEveryOperation(t *testing.T) {
	storetest.Crash(t, func(t *testing.T) storetest.Machine {
		disk := crashdisk.New(1 << 30)
		if _, err := localdir.InitFiles(disk, home, birth); err != nil {
			t.Fatal(err)
		}
		return newMachine(disk)
	}, 700) // the script is short; TestASpoolLosesNothingWhereverTheDiskCrashes has the many
}
