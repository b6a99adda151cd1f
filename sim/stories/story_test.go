package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloudqueue/router/admin"
	"cloudqueue/sim/parts"
	"cloudqueue/sim/world"
)

// binary is the path of cloudqueue, which TestMain builds for all stories.
var binary string

func TestMain(m *testing.M) { os.Exit(withBinary(m.Run)) }

// withBinary runs the tests with the binary built, in a folder that goes with them.
func withBinary(run func() int) int {
	dir, err := os.MkdirTemp("", "cq")
	if err == nil {
		defer os.RemoveAll(dir)
		binary, err = parts.Build(context.Background(), dir, "cloudqueue/cmd/cloudqueue")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// patience is for what status should say, after which a story goes on to see what became of the messages.
const patience = 20 * time.Second

// story is the world with the words of these stories.
type story struct{ *world.World }

func newStory(t *testing.T, config world.Config) story {
	t.Helper()
	config.Binary = binary
	return story{world.New(t, config)}
}

func (w story) start(site string) {
	w.T.Helper()
	if err := w.Sites.Site(site).Start(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
}

func (w story) stop(site string) {
	w.T.Helper()
	if err := w.Sites.Site(site).Stop(w.Ctx); err != nil {
		w.T.Fatal(err)
	}
}

func (w story) kill(site string) { w.Sites.Site(site).Kill() }

// more waits until n more messages have arrived at nyc.
func (w story) more(n int) {
	w.T.Helper()
	before := w.Arrived()
	w.Eventually(fmt.Sprintf("%d more messages arrive", n), func() bool { return w.Arrived() >= before+n })
}

// confirmed waits until n more messages are confirmed at ams, wherever they are.
func (w story) confirmed(n int) {
	w.T.Helper()
	_, before := w.Publisher.Counts()
	w.Eventually(fmt.Sprintf("%d more messages are confirmed", n), func() bool {
		_, confirmed := w.Publisher.Counts()
		return confirmed >= before+n
	})
}

// well waits until no part of any site needs attention.
func (w story) well() {
	w.T.Helper()
	for _, site := range []string{"ams", "nyc"} {
		var problems []admin.Problem
		ok := w.Within(patience, func() bool {
			st := w.Status(site)
			problems = st.Problems()
			return st.Site == site && len(problems) == 0
		})
		if !ok {
			w.T.Errorf("status of %s: %+v", site, problems)
		}
	}
}

// told waits until some site's status says to type these words.
func (w story) told(words string) {
	w.T.Helper()
	if !w.Within(patience, func() bool { return w.tells(words) }) {
		w.T.Errorf("no status says to type %q", words)
	}
}

// tells says whether a problem in some site's status has the words in what it says to type.
func (w story) tells(words string) bool {
	for _, site := range []string{"ams", "nyc"} {
		for _, p := range w.Status(site).Problems() {
			if strings.Contains(p.Fix, words) {
				return true
			}
		}
	}
	return false
}

// spool is the folder of a site's store.
func (w story) spool(site string) string { return filepath.Join(w.Dir, site, "data", "spool") }

// copySpool copies a store as an admin would, also while its router runs: a segment that is removed meanwhile is not in the copy.
func (w story) copySpool(from, to string) {
	w.T.Helper()
	if err := errors.Join(os.RemoveAll(to), os.Mkdir(to, 0o700)); err != nil {
		w.T.Fatal(err)
	}
	names, err := os.ReadDir(from)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(filepath.Join(to, name.Name()), text, 0o600)); err != nil {
			w.T.Fatal(err)
		}
	}
}

// reseal is what status says to type, at a site whose router is stopped.
func (w story) reseal(site string) {
	w.T.Helper()
	out, err := w.Sites.Site(site).Command(w.Ctx, "spool", "reseal", "--why", "an older copy was put back", "--yes")
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Logf("%s", out)
}
