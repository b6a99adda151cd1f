package localdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"cloudqueue/router/spool"
)

// The file RESERVE holds space of the disk, and nothing else: nobody reads its bytes. Where the disk has no other space
// it is removed, and what was refused is done: a claim, a segment's name, a group. So a router can be started on a full
// disk, and what drains goes on. The spool says how much it is, and has it made when there is twice as much space. A
// crash may leave it short, or back: it is a reserve of another size then, and made anew.
const reserveName = "RESERVE"

// SetAside makes RESERVE hold n bytes, unless it does.
func (d *Dir) SetAside(ctx context.Context, n uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if info, err := d.files.Stat(reserveName); err == nil && info.Size == int64(n) {
		return nil
	}
	if err := d.checkOurs(); err != nil {
		return err
	}
	if err := d.makeReserve(n); err != nil {
		return fmt.Errorf("set %d bytes aside in %s/%s: %w", n, d.files.Path(), reserveName, noSpace(err))
	}
	return nil
}

func (d *Dir) makeReserve(n uint64) error {
	if err := d.files.Remove(reserveName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.files.Create(reserveName)
	if err != nil {
		return err
	}
	err = f.Allocate(int64(n))
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, d.files.Remove(reserveName))
	}
	return d.files.Sync()
}

// withReserve does something, and once more with the reserve's space when the disk has none. do begins from the start
// each time.
func withReserve(files Files, do func() error) error {
	err := do()
	if !errors.Is(noSpace(err), spool.ErrNoSpace) || !giveBack(files) {
		return err
	}
	return do()
}

// giveBack removes RESERVE; false: there was none. The directory is synced because some file systems reuse blocks only
// after that; whether it succeeds, who tries again finds out.
func giveBack(files Files) bool {
	if err := files.Remove(reserveName); err != nil {
		return false
	}
	_ = files.Sync()
	return true
}
