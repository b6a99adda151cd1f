package localdir

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

var (
	birth = time.UnixMilli(1_764_534_000_000)
	home  = spool.Home{Site: "ams", Federation: "acme"}
)

// newStore makes a store in a directory of its own.
func newStore(t *testing.T) (path string, id spool.Identity) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "spool")
	id, err := Init(path, home, birth)
	if err != nil {
		t.Fatal(err)
	}
	return path, id
}

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func claimed(t *testing.T, path string) *Dir {
	t.Helper()
	d := open(t, path)
	if _, err := d.Claim(t.Context(), birth); err != nil {
		t.Fatal(err)
	}
	return d
}

// store writes one synced segment.
func store(t *testing.T, d *Dir, number uint64, content string) {
	t.Helper()
	w, err := d.Create(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write([]byte(content))
	if err := errors.Join(err, w.Sync(t.Context()), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestInitMintsAnIdentityThatIdentifyReads(t *testing.T) {
	path, want := newStore(t)
	got, err := open(t, path).Identify(t.Context())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Identify: %v (-init +identify):\n%s", err, diff)
	}
	if want.Store.IsZero() || !want.Born.Equal(birth) || want.Epoch != 0 {
		t.Errorf("Init gave %+v", want)
	}
}

func TestInitRefusesADirectoryThatHoldsAnything(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Init(path, home, birth)
	if !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "precious") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(path, storeName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store was made: %v", err)
	}
}

func TestInitTakesAFreshFileSystemAndTheRemainsOfAnInitThatCrashed(t *testing.T) {
	path := t.TempDir()
	err := errors.Join(os.Mkdir(filepath.Join(path, "lost+found"), 0o700), os.WriteFile(filepath.Join(path, temporaryName), []byte("half"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Init(path, home, birth); err != nil {
		t.Error(err)
	}
}

func TestAnEmptyDirectoryIsNeverInitialisedByOpening(t *testing.T) {
	for name, path := range map[string]string{"empty": t.TempDir(), "missing": filepath.Join(t.TempDir(), "nothing")} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(path)
			if !errors.Is(err, spool.ErrNotInitialised) || !strings.Contains(err.Error(), "cloudqueue spool init file://"+path) {
				t.Errorf("got %v", err)
			}
			if infos, _ := (osFiles{path}).List(); len(infos) > 0 {
				t.Errorf("opening left %v", infos)
			}
		})
	}
}

func TestAStoreWithoutItsIdentityIsNotTakenForANewOne(t *testing.T) {
	path, _ := newStore(t)
	d := claimed(t, path)
	store(t, d, 1, "content")
	if err := errors.Join(d.Close(), os.Remove(filepath.Join(path, storeName))); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if !errors.Is(err, federation.ErrCorrupt) || errors.Is(err, spool.ErrNotInitialised) {
		t.Errorf("got %v", err)
	}
}

func TestClaimRaisesTheEpochToTheClockOrBeyondTheOneBefore(t *testing.T) {
	path, _ := newStore(t)
	var before federation.Epoch
	for _, step := range []struct {
		now     time.Time
		atLeast federation.Epoch // 0: what was before, and 1
	}{
		{birth, 1_764_534_000_000},
		{birth, 0},
		{birth.Add(-time.Hour), 0},
		{birth.Add(time.Minute), 1_764_534_060_000},
		{time.UnixMilli(-5), 0},
	} {
		d := open(t, path)
		id, err := d.Claim(t.Context(), step.now)
		want := max(before+1, step.atLeast)
		if err != nil || id.Epoch < want || step.atLeast != 0 && id.Epoch != want {
			t.Errorf("claim at %v: epoch %d after %d, %v", step.now, id.Epoch, before, err)
		}
		before = id.Epoch
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAHeldStoreIsRefusedUntilItIsClosed(t *testing.T) {
	path, _ := newStore(t)
	first := claimed(t, path)
	second := open(t, path)
	if _, err := second.Claim(t.Context(), birth); !errors.Is(err, spool.ErrHeld) {
		t.Errorf("second claim: %v, want ErrHeld", err)
	}
	if _, err := NewID(path, birth); !errors.Is(err, spool.ErrHeld) {
		t.Errorf("new id: %v, want ErrHeld", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Claim(t.Context(), birth); err != nil {
		t.Errorf("after the first closed: %v", err)
	}
}

func TestReadingNeedsNoClaimAndChangesNothing(t *testing.T) {
	path, _ := newStore(t)
	holder := claimed(t, path)
	store(t, holder, 3, "content")
	before, _ := osFiles{path}.List()

	d := open(t, path)
	r, err := d.Open(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	size, err := r.Size()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	if err := errors.Join(err, r.Close()); err != nil || string(got) != "content" {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := d.Create(t.Context(), 4); !errors.Is(err, ErrNotClaimed) {
		t.Errorf("create without a claim: %v", err)
	}
	if err := d.Remove(t.Context(), 3); !errors.Is(err, ErrNotClaimed) {
		t.Errorf("remove without a claim: %v", err)
	}
	after, _ := osFiles{path}.List()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("reading changed the directory:\n%s", diff)
	}
}

func TestListGivesSegmentsByNumberAndNothingElse(t *testing.T) {
	path, _ := newStore(t)
	d := claimed(t, path)
	for _, number := range []uint64{10, 9, 1<<64 - 1, 0} {
		store(t, d, number, "12345")
	}
	for _, name := range []string{"7.seg", "00000000000000000007.seg.bak", "0000000000000000000x.seg", "+0000000000000000007.seg"} {
		if err := os.WriteFile(filepath.Join(path, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(path, segmentName(8)), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := d.List(t.Context())
	want := []spool.SegmentInfo{{Number: 0, Size: 5}, {Number: 9, Size: 5}, {Number: 10, Size: 5}, {Number: 1<<64 - 1, Size: 5}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestADirectoryThatWasReplacedIsNoticedBeforeTheNextSegment(t *testing.T) {
	replace := map[string]func(path string) error{
		"moved away": func(path string) error { return os.Rename(path, path+".old") },
		"replaced by a copy": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.CopyFS(path, os.DirFS(path+".old")))
		},
		"written over": func(path string) error {
			return os.WriteFile(filepath.Join(path, storeName), encode(sample), 0o600)
		},
		"claimed through the copy": func(path string) error {
			if err := errors.Join(os.Rename(path, path+".old"), os.CopyFS(path, os.DirFS(path+".old"))); err != nil {
				return err
			}
			other, err := Open(path)
			if err != nil {
				return err
			}
			_, err = other.Claim(context.Background(), birth)
			return errors.Join(err, other.Close())
		},
	}
	for name, happen := range replace {
		t.Run(name, func(t *testing.T) {
			path, _ := newStore(t)
			d := claimed(t, path)
			store(t, d, 1, "content")
			if err := happen(path); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Create(t.Context(), 2); !errors.Is(err, ErrReplaced) || !errors.Is(err, spool.ErrFenced) {
				t.Errorf("create: %v", err)
			}
			if err := d.Remove(t.Context(), 1); !errors.Is(err, ErrReplaced) {
				t.Errorf("remove: %v", err)
			}
		})
	}
}

func TestNewIDMakesAStoreOfItsOwnAndRemembersTheOldID(t *testing.T) {
	path, old := newStore(t)
	d := claimed(t, path)
	held, _ := d.Identify(t.Context())
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	ids, err := NewID(path, birth.Add(-time.Hour)) // the clock stands before the birth
	if err != nil || ids.Old != old.Store || ids.New == old.Store {
		t.Fatalf("NewID: %+v, %v", ids, err)
	}
	again := open(t, path)
	got, err := again.Identify(t.Context())
	want := spool.Identity{Home: home, Store: ids.New, Born: birth.Add(time.Millisecond), Epoch: held.Epoch, Former: []federation.StoreID{old.Store}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestClosingEndsEverythingThatIsOpen(t *testing.T) {
	path, _ := newStore(t)
	d := claimed(t, path)
	store(t, d, 1, "content")
	w, _ := d.Create(t.Context(), 2)
	r, _ := d.Open(t.Context(), 1)
	t.Cleanup(func() { w.Close(); r.Close() })

	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	_, writeErr := w.Write([]byte("late"))
	_, readErr := r.ReadAt(make([]byte, 1), 0)
	_, claimErr := d.Claim(t.Context(), birth)
	_, createErr := d.Create(t.Context(), 3)
	for what, err := range map[string]error{"write": writeErr, "sync": w.Sync(t.Context()), "read": readErr, "claim": claimErr, "create": createErr} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
}

func TestASecondInitSaysWhoseStoreIsThere(t *testing.T) {
	path, _ := newStore(t)
	_, err := Init(path, home, birth)
	if !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "a store of "+home.String()+" is there already") || !strings.Contains(err.Error(), "nothing to do") {
		t.Errorf("of the same site: %v", err)
	}
	_, err = Init(path, spool.Home{Site: "elsewhere", Federation: home.Federation}, birth)
	if !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "a store of "+home.String()+" is there already") || strings.Contains(err.Error(), "nothing to do") {
		t.Errorf("of another site: %v", err)
	}
}
