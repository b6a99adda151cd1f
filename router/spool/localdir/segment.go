package localdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"cloudqueue/router/spool"
)

// Create makes a segment with a durable name. The error wraps ErrReplaced or ErrNotClaimed where it should, fs.ErrExist
// when the number is taken. After any other error the segment may exist, empty: the number is not used again.
func (d *Dir) Create(ctx context.Context, number uint64) (spool.Writer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.checkOurs(); err != nil {
		return nil, err
	}
	name := segmentName(number)
	var f File
	err := withReserve(d.files, func() (err error) {
		f, err = d.files.Create(name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create segment %d: %w", number, noSpace(err))
	}
	if err := d.files.Sync(); err != nil {
		// Best effort: whatever comes of the removal, the caller hears of the first error and leaves the number alone.
		return nil, fmt.Errorf("create segment %d: make its name durable: %w", number,
			noSpace(errors.Join(err, f.Close(), d.files.Remove(name))))
	}
	return &writer{dir: d, file: f, number: number}, nil
}

// Open opens a segment for reading; fs.ErrNotExist when there is none.
func (d *Dir) Open(ctx context.Context, number uint64) (spool.Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.closed.Load() {
		return nil, errClosed
	}
	source, err := d.files.Open(segmentName(number))
	if err != nil {
		return nil, fmt.Errorf("open segment %d: %w", number, err)
	}
	return reader{source, d}, nil
}

// reader is a segment that is being read.
type reader struct {
	Source
	dir *Dir
}

func (r reader) ReadAt(p []byte, off int64) (int, error) {
	if r.dir.closed.Load() {
		return 0, errClosed
	}
	return r.Source.ReadAt(p, off)
}

// Remove takes a segment away, durably; one that is not there is removed already, as far as the directory's sync says
// so. After an error the segment may be there or not.
func (d *Dir) Remove(ctx context.Context, number uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.checkOurs(); err != nil {
		return err
	}
	if err := d.files.Remove(segmentName(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove segment %d: %w", number, err)
	}
	if err := d.files.Sync(); err != nil {
		return fmt.Errorf("remove segment %d: make it durable: %w", number, err)
	}
	return nil
}

// writer is a segment that is being written, by one goroutine. Its first error is its last word: after a failed write
// nobody knows what the file holds, and after a failed fsync Linux marks the lost pages clean and lets the next fsync
// succeed.
type writer struct {
	dir    *Dir
	file   File
	number uint64
	failed error
}

// Write goes on behind what fitted when the disk has no space and the reserve has: a short write for want of space is
// no failure of the disk.
func (w *writer) Write(p []byte) (n int, err error) {
	if err := w.broken(); err != nil {
		return 0, err
	}
	err = withReserve(w.dir.files, func() error {
		written, err := w.file.Write(p[n:])
		n += written
		return err
	})
	return n, w.poison("write", err)
}

// Sync makes everything written so far durable. The kernel's call cannot be interrupted: the context counts only before
// it.
func (w *writer) Sync(ctx context.Context) error {
	if err := w.broken(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := w.file.Sync()
	if errors.Is(noSpace(err), spool.ErrNoSpace) {
		giveBack(w.dir.files) // for the next segment: this one is lost
	}
	return w.poison("sync", err)
}

func (w *writer) broken() error {
	if w.failed == nil && w.dir.closed.Load() {
		return errClosed
	}
	return w.failed
}

func (w *writer) poison(doing string, err error) error {
	if err != nil {
		w.failed = fmt.Errorf("%s segment %d: %w", doing, w.number, noSpace(err))
	}
	return w.failed
}

// Close frees the file; it makes nothing durable.
func (w *writer) Close() error { return w.file.Close() }
