package stories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cloudqueue/sim/world"
)

func TestTwoSitesStoresThatWereExchangedAreRefusedAtTheStartWithTheSitesNames(t *testing.T) {
	t.Parallel()
	w := newStory(t, world.Config{})
	w.Publish(300)
	w.more(100)
	w.stop("nyc")
	w.confirmed(300)
	w.stop("ams")
	w.exchange()

	w.refused("ams", "it belongs to site nyc")
	w.refused("nyc", "it belongs to site ams")
	w.exchange() // each has its own again

	w.start("ams")
	w.start("nyc")
	w.Balance()
	w.well()
}

// refused starts a site's router, which must not stay, and say why.
func (w story) refused(site, why string) {
	w.T.Helper()
	err := w.Sites.Site(site).Start(w.Ctx)
	if err == nil || !strings.Contains(err.Error(), why) {
		w.T.Errorf("start of %s on the other site's store: %v; want %q", site, err, why)
	}
	w.Sites.Site(site).Kill()
}

// exchange gives each site the store of the other.
func (w story) exchange() {
	w.T.Helper()
	aside := filepath.Join(w.Dir, "aside")
	for _, move := range [][2]string{{w.spool("ams"), aside}, {w.spool("nyc"), w.spool("ams")}, {aside, w.spool("nyc")}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			w.T.Fatal(err)
		}
	}
}
