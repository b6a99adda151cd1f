package localdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cloudqueue/federation"
	"cloudqueue/router/spool"
)

// Init makes the store of a site in dir: it mints the store id, and now is its birth. It creates the directory when
// there is none, and refuses one that holds anything (lost+found and the remains of an Init that did not finish do not
// count). An error leaves no store, or a whole one.
func Init(dir string, home spool.Home, now time.Time) (spool.Identity, error) {
	if err := makeDirectory(dir); err != nil {
		return spool.Identity{}, fmt.Errorf("make %s: %w", dir, err)
	}
	return InitFiles(osFiles{dir}, home, now)
}

// makeDirectory makes dir, with a durable name, unless it exists.
func makeDirectory(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(parent)
}

// InitFiles is Init on a directory of any kind.
func InitFiles(files Files, home spool.Home, now time.Time) (spool.Identity, error) {
	var id spool.Identity
	if !home.Valid() {
		return id, fmt.Errorf("%s: a store of %s: names are 1 to 63 of a-z, 0-9 and -", files.Path(), home)
	}
	err := locked(files, func() error {
		if err := refuseUsed(files, home); err != nil {
			return err
		}
		id = spool.Identity{Home: home, Store: newStoreID(), Born: wholeMilliseconds(now)}
		return writeIdentity(files, id)
	})
	return id, err
}

// locked runs do while the directory is ours.
func locked(files Files, do func() error) error {
	unlock, err := lock(files)
	if err != nil {
		return err
	}
	return errors.Join(do(), unlock())
}

// Free fails with spool.ErrHeld while another process uses the store.
func Free(dir string) error { return locked(osFiles{dir}, func() error { return nil }) }

// lock takes the directory; its errors wrap spool.ErrHeld or spool.ErrNotInitialised where they should.
func lock(files Files) (func() error, error) {
	unlock, err := files.Lock()
	switch {
	case errors.Is(err, ErrLocked):
		return nil, fmt.Errorf("%s: %w: another router or spool command uses it; end that one first", files.Path(),
			spool.ErrHeld)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notInitialised(files, "no such directory")
	}
	return unlock, err
}

func notInitialised(files Files, why string) error {
	return fmt.Errorf("%s: %w (%s): if its disk is mounted and this is a site without a store, run: cloudqueue spool init file://%s",
		files.Path(), spool.ErrNotInitialised, why, files.Path())
}

func refuseUsed(files Files, home spool.Home) error {
	infos, err := files.List()
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(namesOf(infos), func(name string) bool {
		return name == "lost+found" || name == temporaryName
	})
	if len(names) == 0 {
		return nil
	}
	if there, err := readIdentity(files); err == nil {
		return fmt.Errorf("%s: %w: a store of %s is there already: %s", files.Path(), ErrNotEmpty, there.Home,
			whatToDo(there.Home == home))
	}
	return fmt.Errorf("%s: %w (%s and %d more): a new store needs an empty directory", files.Path(), ErrNotEmpty,
		names[0], len(names)-1)
}

func whatToDo(ours bool) string {
	if ours {
		return "nothing to do"
	}
	return "it is another site's; name this site's own folder"
}

func namesOf(infos []FileInfo) []string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	slices.Sort(names)
	return names
}

// ErrNotEmpty is Init's answer to a directory that holds something.
var ErrNotEmpty = errors.New("not empty")

func newStoreID() federation.StoreID {
	var id federation.StoreID
	rand.Read(id[:]) // never fails
	return id
}

func wholeMilliseconds(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()) }

// Renamed is what NewID did.
type Renamed struct{ Old, New federation.StoreID }

// NewID makes a store of its own out of a copy: it gets an id and a birth of its own, and remembers the old id, as its
// segments were written under it. The store must not be in use. An error leaves the old identity or the new one.
func NewID(dir string, now time.Time) (Renamed, error) { return NewIDFiles(osFiles{dir}, now) }

// NewIDFiles is NewID on a directory of any kind.
func NewIDFiles(files Files, now time.Time) (Renamed, error) {
	var ids Renamed
	err := locked(files, func() error {
		id, err := existingIdentity(files)
		if err != nil {
			return err
		}
		if len(id.Former) == maxFormer {
			return fmt.Errorf("%s: this store had %d ids already: begin an empty one with spool init", files.Path(),
				maxFormer)
		}
		ids = Renamed{Old: id.Store, New: newStoreID()}
		id.Former = append(id.Former, id.Store)
		id.Store, id.Born = ids.New, later(id.Born, wholeMilliseconds(now))
		return withReserve(files, func() error { return writeIdentity(files, id) })
	})
	return ids, err
}

// later is now, or the moment after born when the clock stands before it: of two stores, peers believe the one born
// later.
func later(born, now time.Time) time.Time {
	if now.After(born) {
		return now
	}
	return born.Add(time.Millisecond)
}

// existingIdentity reads STORE; its error wraps spool.ErrNotInitialised when there is none.
func existingIdentity(files Files) (spool.Identity, error) {
	id, err := readIdentity(files)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	infos, err := files.List()
	if errors.Is(err, fs.ErrNotExist) {
		return id, notInitialised(files, "no such directory")
	}
	if err != nil {
		return id, err
	}
	if segments := segmentsOf(infos); len(segments) > 0 {
		return id, fmt.Errorf("%s: %s is missing beside %d segments: %w: %w; do not run spool init",
			files.Path(), storeName, len(segments), ErrIdentity, federation.ErrCorrupt)
	}
	return id, notInitialised(files, storeName+" is missing")
}
