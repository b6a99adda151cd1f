//go:build integration && linux

package stories

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cloudqueue/router/admin"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/world"
)

func TestARouterThatIsKilledOnAFullDiskStartsAndDrains(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			disk := smallDisk(t)
			store := `url: "file://` + filepath.Join(disk, "spool") + `", quota: 100MiB, segment-size: 1MiB` // the quota is never used up; its reserve, a twentieth, fits
			w := newStory(t, world.Config{Stores: map[string]string{site: store}})
			w.Publish(1000)
			w.more(500)
			w.Link.Cut()
			w.confirmed(1000)
			fill(t, filepath.Join(disk, "ballast"))
			w.Eventually("status says that the store has no space, and what to do", func() bool {
				st := w.Status(site).Store
				return (st.State == admin.Full || st.State == admin.Unwell) && st.Reason != "" && st.Fix != ""
			})

			w.Sites.Site(site).Kill()
			w.start(site)
			w.Link.Heal()

			if site == "ams" { // what is stored needs no space to leave; a destination must note what it has done
				w.more(500)
			}
			if err := os.Remove(filepath.Join(disk, "ballast")); err != nil {
				t.Fatal(err)
			}
			w.Balance()
			w.well()
		})
	}
}

// smallDisk is a file system of its own, of 40 MiB. It needs root, as mount(8) does.
func smallDisk(t *testing.T) (mounted string) {
	t.Helper()
	mounted = lane.Dir(t)
	if err := syscall.Mount("tmpfs", mounted, "tmpfs", 0, "size=40m,mode=0700"); err != nil {
		t.Fatalf("mount a tmpfs (this test needs root): %v", err)
	}
	t.Cleanup(func() { // the routers, which began later, have ended
		if err := syscall.Unmount(mounted, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return mounted
}

// fill writes until there is no space.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
