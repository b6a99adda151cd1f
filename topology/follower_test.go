package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/topology"
)

var (
	one = route(from + to)
	two = route(from+to) + "  other:\n    from: {site: ams, queue: q}\n" + to
)

func TestFollowerGivesWhatTheSourceHoldsAndFollowsItsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)

		if s := f.next(); s.Version != 1 || s.Origin != topology.OriginEtcd || len(s.Document.Routes()) != 1 {
			t.Errorf("first snapshot %+v, want version 1 from etcd", s)
		}
		source.hold(2, two)
		if s := f.next(); s.Version != 2 || len(s.Document.Routes()) != 2 {
			t.Errorf("second snapshot %+v, want version 2 with two routes", s)
		}
		source.hold(2, two)
		f.none()
		if part := f.Status().Part(); part.State != "running" {
			t.Errorf("state %+v, want running", part)
		}
	})
}

func TestFollowerRunsTheLastGoodCopyWithoutItsSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		source := newFakeSource(topology.OriginEtcd)
		source.hold(7, one)
		first := start(t, source, dir, nil)
		first.next()
		first.stop()

		source.set(func(s *fakeSource) { s.silent = true })
		second := start(t, source, dir, nil)

		if s := second.next(); s.Version != 7 || s.Origin != topology.OriginLastGood || string(s.Document.Source()) != one {
			t.Errorf("snapshot %+v, want version 7 from the last good copy", s)
		}
		time.Sleep(24 * time.Hour)
		second.none()
		want := "the last good topology is in force: fake cannot be reached: no answer in time"
		if part := second.Status().Part(); part.State != "degraded" || part.Reason != want {
			t.Errorf("state %+v, want degraded: %s", part, want)
		}
		source.hold(8, two)
		time.Sleep(30*time.Second + 10*time.Second)
		if s := second.next(); s.Version != 8 {
			t.Errorf("snapshot %+v after the source came back, want version 8", s)
		}
	})
}

func TestFollowerConfirmsTheLastGoodCopyWhenTheSourceHoldsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		source := newFakeSource(topology.OriginEtcd)
		source.hold(7, one)
		first := start(t, source, dir, nil)
		first.next()
		first.stop()

		second := start(t, source, dir, nil)

		if s := second.next(); s.Origin != topology.OriginLastGood {
			t.Errorf("snapshot %+v, want the last good copy", s)
		}
		second.none()
		if got := second.Status().From; got != topology.OriginEtcd {
			t.Errorf("in force is %q, want it confirmed by etcd", got)
		}
	})
}

func TestFollowerNeverTakesAMissingTopologyForADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)
		f.next()

		source.fail(topology.ErrMissing)
		time.Sleep(time.Hour)

		f.none()
		if s := f.Status(); s.Version != 1 || s.Trouble != "no topology there" {
			t.Errorf("status %+v, want version 1 in force and the trouble told", s)
		}
	})
}

func TestFollowerRefusesWhatMayNotComeIntoForce(t *testing.T) {
	for _, c := range []struct {
		name     string
		origin   topology.Origin
		version  uint64
		src, why string
		fix      string
	}{
		{"a document with mistakes", topology.OriginEtcd, 6, route(from + "    to: [{site: mars}]\n"), `the document is not valid: fake:8:17: routes.orders.to[0].site: there is no site "mars"; write a name that stands under sites`, "mend the document"},
		{"an older version", topology.OriginEtcd, 4, one, "version 4 is older than version 5, which is in force: the source was wiped or rolled back", "cloudqueue topology apply --at-least 6 FILE"},
		{"the same version with another text", topology.OriginEtcd, 5, two, "version 5 has another digest than the one in force", "cloudqueue topology apply --at-least 6 FILE"},
		{"another federation", topology.OriginEtcd, 6, one + "federation: acme\n", "the document is of the federation acme, this router of cloudqueue", "write federation: cloudqueue"},
		{"a document without the own site", topology.OriginEtcd, 6, strings.NewReplacer("  ams: {listen: [ams.example.net:7443], labels: {region: eu}}\n", "", "ams", "edge").Replace(one), "the document has no site ams", "stop this router"},
		{"other destinations of a lane", topology.OriginEtcd, 6, route(from + "    to: [{site: edge}]\n"), "this version cannot do that: route ams/orders: its destinations (nyc) cannot become edge", "put the document back"},
		{"a file that strands a route", topology.OriginFile, 0, sites, "the change would strand messages: route ams/orders", "accept-stranding: ["},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := newFakeSource(c.origin)
				before := min(c.version, 1) * 5
				source.hold(before, one)
				f := start(t, source, t.TempDir(), nil)
				f.next()

				source.hold(c.version, c.src)

				f.none()
				s := f.Status()
				if s.Refused == nil || !strings.HasPrefix(s.Refused.Why, c.why) || !strings.HasPrefix(s.Refused.Fix, c.fix) {
					t.Fatalf("refused %+v, want %q and %q", s.Refused, c.why, c.fix)
				}
				if part := s.Part(); part.State != "held" || s.Version != before {
					t.Errorf("state %+v of version %d, want held at version %d", part, s.Version, before)
				}
				source.hold(before+5, two)
				if got := f.next(); got.Version != before+5 || f.Status().Refused != nil {
					t.Errorf("after the mend: version %d, refused %v", got.Version, f.Status().Refused)
				}
			})
		})
	}
}

func TestFollowerTakesAFileThatNamesWhatItReplaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginFile)
		source.hold(0, one)
		f := start(t, source, t.TempDir(), nil)
		f.next()
		source.hold(0, sites)
		f.none()
		_, word, _ := strings.Cut(f.Status().Refused.Fix, "accept-stranding: ")
		word, _, _ = strings.Cut(word, " in the document")

		source.hold(0, sites+"accept-stranding: "+word+"\n")

		if s := f.next(); len(s.Document.Routes()) != 0 {
			t.Errorf("snapshot with routes %v, want none", s.Document.Routes())
		}
	})
}

func TestFollowerReadsAgainWhenAWatchHasGoneDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)
		f.next()

		source.set(func(s *fakeSource) { s.deaf = true })
		source.hold(2, two)
		synctest.Wait()
		time.Sleep(5*time.Minute + 30*time.Second)

		if s := f.next(); s.Version != 2 {
			t.Errorf("version %d, want 2 without a sign of change", s.Version)
		}
	})
}

func TestFollowerPausesBetweenReadsOfABrokenSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.fail(errors.New("connection refused"))
		f := start(t, source, t.TempDir(), nil)

		time.Sleep(time.Hour)
		synctest.Wait()

		if n := source.reads; n < 120 || n > 1000 { // 15 s each in the middle
			t.Errorf("%d reads in an hour, want some hundreds", n)
		}
		want := "no topology yet: fake cannot be reached: connection refused"
		if part := f.Status().Part(); part.State != "waiting" || part.Reason != want {
			t.Errorf("state %+v, want waiting: %s", part, want)
		}
	})
}

func TestLatestSnapshotReplacesOneThatWasNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)
		synctest.Wait()
		source.hold(2, two)

		if s := f.next(); s.Version != 2 {
			t.Errorf("version %d, want 2 in place of 1", s.Version)
		}
		f.none()
	})
}

func TestLastGoodCopyKeepsNumbersAndIsATopologyFileItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		src := route(from + "    to: [{site: nyc, queue: a}]\n")
		queue := "a"
		source := newFakeSource(topology.OriginEtcd)
		source.set(func(s *fakeSource) {
			s.err = nil
			s.stored = topology.Stored{Version: 3, Source: []byte(src), Numbers: topology.Numbers{"orders": {{Site: "nyc", Queue: queue, Target: 9}}}}
		})
		first := start(t, source, dir, nil)
		first.next()
		first.stop()

		source.fail(topology.ErrMissing)
		s := start(t, source, dir, nil).next()

		if got := numbersOf(s.Document); got != "nyc:9" {
			t.Errorf("destinations %s after a restart, want nyc:9", got)
		}
		parseFile(t, filepath.Join(dir, "last-good.yaml"))
	})
}

func TestDamagedLastGoodCopyIsToldAndNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "last-good.yaml")
		source := newFakeSource(topology.OriginEtcd)
		source.hold(3, one)
		first := start(t, source, dir, nil)
		first.next()
		first.stop()
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		source.fail(topology.ErrMissing)
		for _, damaged := range []string{strings.Replace(string(good), "orders", "0rders", 1), string(good[:len(good)-1]), string(good[:20]), one, ""} {
			if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
				t.Fatal(err)
			}
			f := start(t, source, dir, nil)
			f.none()
			if f.Status().CopyTrouble == "" {
				t.Errorf("nothing is told of the damaged copy %q", damaged)
			}
			f.stop()
		}
	})
}

func TestAppliedTellsWhenTheCopyCannotBeWrittenUntilItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "not yet there")
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, dir, nil)
		synctest.Wait()
		s := <-f.Snapshots()

		err := f.Applied(t.Context(), s)

		if !errors.Is(err, os.ErrNotExist) || f.Status().Part().State != "degraded" {
			t.Errorf("Applied gave %v, state %+v; want the folder missing and degraded", err, f.Status().Part())
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.Applied(t.Context(), s); err != nil || f.Status().Part().State != "running" {
			t.Errorf("Applied gave %v, state %+v; want it running", err, f.Status().Part())
		}
	})
}

func TestWhatTheRouterCouldNotDoIsShownUntilItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newFakeSource(topology.OriginEtcd)
		source.hold(1, one)
		f := start(t, source, t.TempDir(), nil)
		synctest.Wait()
		s := <-f.Snapshots()

		f.NotApplied(s, errors.New("lane ams/orders: no"))
		if part := f.Status().Part(); part.State != "held" || !strings.Contains(part.Reason, "lane ams/orders: no") || part.Fix == "" {
			t.Errorf("state %+v, want what could not be done", part)
		}
		if err := f.Applied(t.Context(), s); err != nil || f.Status().Part().State != "running" {
			t.Errorf("Applied gave %v, state %+v; want it running", err, f.Status().Part())
		}
	})
}

func TestFollowerReportsWhatRunsAtOnceAndThenEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reporter := &fakeReporter{err: errors.New("etcd is away")}
		source := newFakeSource(topology.OriginEtcd)
		source.hold(4, one)
		f := start(t, source, t.TempDir(), reporter)
		s := f.next()

		got, before := reporter.get()
		time.Sleep(time.Minute)
		synctest.Wait()
		_, after := reporter.get()

		want := topology.Report{Site: "ams", Router: "r1", Version: 4, Digest: hexOf(s.Digest), Origin: topology.OriginEtcd, Since: got.Since}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
		if after-before != 12 {
			t.Errorf("%d reports in a minute, want 12", after-before)
		}
	})
}
