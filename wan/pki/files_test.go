package pki

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"cloudqueue/durable"
	"cloudqueue/federation"
)

// followed loads the files of ams and follows them, in virtual time.
func followed(t *testing.T, story func(t *testing.T, dir string, a *Authority, f *Files)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, err := Create(dir, "example", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := a.IssueTo(dir, "ams", time.Hour, time.Now()); err != nil {
			t.Fatal(err)
		}
		f, err := Load(paths(dir, "ams"), nil)
		if err != nil {
			t.Fatal(err)
		}
		go f.Run(t.Context())
		story(t, dir, a, f)
	})
}

func TestARenewalThatIsReadBetweenItsTwoFilesIsNoAlert(t *testing.T) {
	followed(t, func(t *testing.T, dir string, a *Authority, f *Files) {
		certificate, key, err := a.Issue("ams", 2*time.Hour, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := durable.Replace(filepath.Join(dir, "ams.key"), key, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reloadEvery)
		synctest.Wait()
		if got := f.State(); got.State != federation.StateRunning {
			t.Errorf("between the two: %+v", got)
		}
		if err := durable.Replace(filepath.Join(dir, "ams.crt"), certificate, 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()

		if got := f.State(); got.State != federation.StateRunning || time.Until(f.Identity().NotAfter()) < 90*time.Minute {
			t.Errorf("after both: %+v, until %s", got, f.Identity().NotAfter())
		}
	})
}

func TestFilesThatDoNotFitForLongAreSaid(t *testing.T) {
	followed(t, func(t *testing.T, dir string, _ *Authority, f *Files) {
		if err := os.Remove(filepath.Join(dir, "ams.key")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reloadEvery + time.Second)
		synctest.Wait()

		if got := f.State(); got.State != stateHeld || got.Reason == "" || got.Fix == "" {
			t.Errorf("%+v, want held", got)
		}
	})
}
