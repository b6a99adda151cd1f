//go:build integration && linux

package stories

import (
	"os"
	"path/filepath"
	"testing"

	"cloudqueue/router/admin"
	"cloudqueue/router/spool/localdir/smalldisk"
	"cloudqueue/sim/lane"
	"cloudqueue/sim/world"
)

func TestARouterThatIsKilledOnAFullDiskStartsAndDrains(t *testing.T) {
	for _, site := range []string{"ams", "nyc"} {
		t.Run(site, func(t *testing.T) {
			disk := lane.Dir(t)
			smalldisk.Mount(t, disk, 40<<20)
			store := `url: "file://` + filepath.Join(disk, "spool") + `", quota: 100MiB, segment-size: 1MiB` // the quota is never used up; its reserve, a twentieth, fits
			w := newStory(t, world.Config{Stores: map[string]string{site: store}})
			w.Publish(1000)
			w.more(500)
			w.Link.Cut()
			w.confirmed(1000)
			smalldisk.Fill(t, filepath.Join(disk, "ballast"))
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
