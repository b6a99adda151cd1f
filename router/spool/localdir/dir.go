package localdir

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"cloudqueue/router/spool"
)

// Dir is a store in a directory. It implements spool.Segments. Until Claim has answered nil it only reads.
type Dir struct {
	files Files

	mu     sync.Mutex // guards what Claim and Close change
	claim  claim
	closed atomic.Bool // set once; open segments look at it too
}

// claim is what makes the directory ours; zero without one.
type claim struct {
	unlock func() error
	id     spool.Identity // what Claim wrote into STORE
	file   FileID         // that file
}

var _ spool.Segments = (*Dir)(nil)

// Open opens the store in dir; it takes and changes nothing. The error wraps spool.ErrNotInitialised when there is no
// store, federation.ErrCorrupt or federation.ErrVersion when its identity cannot be read.
func Open(dir string) (*Dir, error) { return OpenFiles(osFiles{dir}) }

// OpenFiles is Open on a directory of any kind.
func OpenFiles(files Files) (*Dir, error) {
	if _, err := existingIdentity(files); err != nil {
		return nil, err
	}
	return &Dir{files: files}, nil
}

// Identify reads who the store is, without claiming it. Its epoch is that of the latest claim.
func (d *Dir) Identify(ctx context.Context) (spool.Identity, error) {
	if err := ctx.Err(); err != nil {
		return spool.Identity{}, err
	}
	return existingIdentity(d.files)
}

// Claim takes the directory for this process and raises the epoch, durably, before anything else is read. Errors wrap
// spool.ErrHeld or spool.ErrNotInitialised where they say so; after any error the store is not claimed, and the epoch
// may have been raised.
func (d *Dir) Claim(ctx context.Context, now time.Time) (spool.Identity, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return spool.Identity{}, err
	}
	if d.closed.Load() {
		return spool.Identity{}, errClosed
	}
	if d.claim.unlock != nil {
		return spool.Identity{}, fmt.Errorf("%s: %w: by this process", d.files.Path(), spool.ErrHeld)
	}
	unlock, err := lock(d.files)
	if err != nil {
		return spool.Identity{}, err
	}
	id, file, err := raiseEpoch(d.files, now)
	if err != nil {
		return spool.Identity{}, errors.Join(noSpace(err), unlock())
	}
	d.claim = claim{unlock, id, file}
	return id, nil
}

func raiseEpoch(files Files, now time.Time) (spool.Identity, FileID, error) {
	id, err := existingIdentity(files)
	if err != nil {
		return spool.Identity{}, FileID{}, err
	}
	id.Epoch = spool.NextEpoch(id.Epoch, now)
	if err := withReserve(files, func() error { return writeIdentity(files, id) }); err != nil {
		return spool.Identity{}, FileID{}, err
	}
	info, err := files.Stat(storeName)
	return id, info.ID, err
}

// Errors of a directory that is not ours, or not any more.
var (
	// ErrNotClaimed is the answer of Create and Remove before Claim.
	ErrNotClaimed = errors.New("the store is not claimed")
	// ErrReplaced tells that the directory is not the one that was claimed: it was moved away, or STORE was written by
	// somebody else although this process holds the lock (which is on the directory that was moved). It is a
	// spool.ErrFenced.
	ErrReplaced = fmt.Errorf("the directory was replaced while it was in use: %w", spool.ErrFenced)
	errClosed   = fmt.Errorf("the store was closed: %w", fs.ErrClosed)
)

// checkOurs finds out whether the path still leads to the directory that Claim took. The file's identity tells a copy,
// however good; its bytes tell one that was written over.
func (d *Dir) checkOurs() error {
	if d.closed.Load() {
		return errClosed
	}
	d.mu.Lock()
	ours := d.claim
	d.mu.Unlock()
	if ours.unlock == nil {
		return fmt.Errorf("%s: %w", d.files.Path(), ErrNotClaimed)
	}
	info, statErr := d.files.Stat(storeName)
	id, err := readIdentity(d.files)
	if err := errors.Join(statErr, err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info.ID != ours.file || !bytes.Equal(encode(id), encode(ours.id)) {
		return fmt.Errorf("%s: %w: stop this router, see what was put there, and start it again", d.files.Path(),
			ErrReplaced)
	}
	return nil
}

// noSpace lets errors.Is find spool.ErrNoSpace where the system says so in its own way.
func noSpace(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", spool.ErrNoSpace, err)
	}
	return err
}

// Alignment of groups: a whole number of words.
func (d *Dir) Alignment() int { return 8 }

// Space tells what the file system has left for this process, and its size.
func (d *Dir) Space(ctx context.Context) (free, total uint64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	return d.files.Space()
}

// Place is the folder.
func (d *Dir) Place() string { return d.files.Path() }

// List gives the segments by number. Other files are none of ours, and left alone.
func (d *Dir) List(ctx context.Context) ([]spool.SegmentInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	infos, err := d.files.List()
	return segmentsOf(infos), err
}

const (
	segmentSuffix = ".seg"
	segmentDigits = 20 // 2^64-1 has 20 digits: names sort as numbers do
)

func segmentName(number uint64) string {
	return fmt.Sprintf("%0*d%s", segmentDigits, number, segmentSuffix)
}

func segmentsOf(infos []FileInfo) []spool.SegmentInfo {
	var segments []spool.SegmentInfo
	for _, info := range infos {
		digits, ok := strings.CutSuffix(info.Name, segmentSuffix)
		number, err := strconv.ParseUint(digits, 10, 64)
		if ok && err == nil && info.Regular && info.Name == segmentName(number) {
			segments = append(segments, spool.SegmentInfo{Number: number, Size: info.Size})
		}
	}
	slices.SortFunc(segments, func(a, b spool.SegmentInfo) int { return cmp.Compare(a.Number, b.Number) })
	return segments
}

// Close gives the claim back, for ever: open segments fail from now on. Whoever writes to one stops before.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Swap(true) || d.claim.unlock == nil {
		return nil
	}
	return d.claim.unlock()
}
