package topology_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/topology"
)

// begin takes the snapshot that is there and begins it: the process ends before it is applied.
func (r *rig) begin() {
	r.t.Helper()
	synctest.Wait()
	select {
	case s := <-r.Snapshots():
		if err := r.Begin(r.t.Context(), s); err != nil {
			r.t.Fatal(err)
		}
	default:
		r.t.Fatalf("no snapshot; status %+v", r.Status())
	}
	r.stop()
}

func TestBindingsOfADocumentThatACrashKeptFromTheCopyAreToBeUnbound(t *testing.T) {
	for _, c := range []struct {
		what                 string
		before, crash, after string // documents; before is applied, unless it is empty
		want                 []federation.Source
	}{
		{"another document", keyed("e", "a"), keyed("e", "b"), keyed("e", "c"), []federation.Source{orders("e", "a", "b")}},
		{"the same one again", keyed("e", "a"), keyed("e", "b"), keyed("e", "b"), []federation.Source{orders("e", "a")}},
		{"the one before is put back", keyed("e", "a"), keyed("e", "b"), keyed("e", "a"), []federation.Source{orders("e", "b")}},
		{"it was the first one", "", keyed("e", "b"), keyed("e", "c"), []federation.Source{orders("e", "b")}},
		{"the route is gone", "", keyed("e", "b"), sites, []federation.Source{orders("e", "b")}},
	} {
		for _, origin := range []topology.Origin{topology.OriginEtcd, topology.OriginFile} {
			synctest.Test(t, func(t *testing.T) {
				dir, source := t.TempDir(), newFakeSource(origin)
				if c.before != "" {
					source.hold(version(origin), c.before)
					first := start(t, source, dir, nil)
					first.next()
					first.stop()
				}
				source.hold(2*version(origin), c.crash)
				start(t, source, dir, nil).begin()

				source.hold(3*version(origin), c.after)
				third := start(t, source, dir, nil)
				if diff := cmp.Diff(c.want, third.next().Left); diff != "" {
					t.Errorf("%s, %s: left (-want +got):\n%s", c.what, origin, diff)
				}
				third.stop()

				if diff := cmp.Diff(c.want, start(t, source, dir, nil).next().Left); diff != "" {
					t.Errorf("%s, %s: left after one more restart (-want +got):\n%s", c.what, origin, diff)
				}
			})
		}
	}
}

func TestTheLastGoodCopyUnbindsNothingOfADocumentThatACrashKeptFromIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, source := t.TempDir(), newFakeSource(topology.OriginEtcd)
		source.hold(1, keyed("e", "a"))
		first := start(t, source, dir, nil)
		first.next()
		first.stop()
		source.hold(2, keyed("e", "a", "b"))
		start(t, source, dir, nil).begin()
		source.fail(errors.New("etcd is away"))

		third := start(t, source, dir, nil)

		if got := third.next(); got.Origin != topology.OriginLastGood || len(got.Left) != 0 {
			t.Errorf("%s, left %v: the document that is in force at etcd may name them", got.Origin, got.Left)
		}
		source.hold(3, keyed("e", "c"))
		time.Sleep(30 * time.Second) // the longest pause between two questions
		if diff := cmp.Diff([]federation.Source{orders("e", "a", "b")}, third.next().Left); diff != "" {
			t.Errorf("left when etcd is back (-want +got):\n%s", diff)
		}
	})
}

func TestWhatBeginsIsForgottenWhenTheCopyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, source := t.TempDir(), newFakeSource(topology.OriginEtcd)
		source.hold(1, keyed("e", "a"))
		f := start(t, source, dir, nil)
		synctest.Wait()
		s := <-f.Snapshots()
		begun := filepath.Join(dir, "last-good.yaml.begun")

		if err := f.Begin(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(begun); err != nil || string(got) != golden(t, "begun-1.json") {
			t.Errorf("written is %q, %v", got, err)
		}
		if err := f.Applied(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(begun); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestADamagedFileOfWhatBeganIsToldAndTheRouterGoesOn(t *testing.T) {
	for _, content := range []string{"", "{", `{"format":2}`} {
		synctest.Test(t, func(t *testing.T) {
			dir, source := t.TempDir(), newFakeSource(topology.OriginEtcd)
			if err := os.WriteFile(filepath.Join(dir, "last-good.yaml.begun"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			source.hold(1, keyed("e", "a"))

			f := start(t, source, dir, nil)

			synctest.Wait()
			if f.Status().CopyTrouble == "" {
				t.Errorf("%q: not told", content)
			}
			f.next()
		})
	}
}
